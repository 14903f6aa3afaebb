"""Profiles of hypothesis: a few fixed examples, or many new ones with ``PROFILE=many``."""

import os

from hypothesis import HealthCheck, settings

_SHARED = {
    "deadline": None,
    "database": None,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.filter_too_much],
}
settings.register_profile("few", max_examples=6, derandomize=True, **_SHARED)
settings.register_profile("many", max_examples=int(os.environ.get("EXAMPLES", "10000")), **_SHARED)
settings.load_profile(os.environ.get("PROFILE", "few"))
