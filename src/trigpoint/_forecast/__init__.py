"""Time and memory of a run, estimated beforehand."""

from trigpoint._forecast.forecast import Forecast, forecast, stage_seconds
from trigpoint._forecast.job import Job
from trigpoint._forecast.memory import forecast_bytes

__all__ = ["Forecast", "Job", "forecast", "forecast_bytes", "stage_seconds"]
