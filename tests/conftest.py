"""What every test shares: how much Hypothesis tries, and that two runs try the same."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

_QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large]

# `ci` is the default: cheap, and the same examples in every run, so that a red run is red again.
settings.register_profile(
    "ci", derandomize=True, max_examples=40, deadline=None, database=None, suppress_health_check=_QUIET
)
settings.register_profile("dev", max_examples=200, deadline=None, suppress_health_check=_QUIET)
settings.register_profile("deep", max_examples=5000, deadline=None, suppress_health_check=_QUIET)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
