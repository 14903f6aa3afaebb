"""Where points live: what users pass, validated, and stores that hold it."""
