"""Points as the library sees them: what users pass, validated."""
