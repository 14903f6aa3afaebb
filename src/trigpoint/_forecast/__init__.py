"""Time and memory of a run, estimated beforehand."""

from trigpoint._forecast.forecast import Forecast, forecast
from trigpoint._forecast.memory import forecast_bytes

__all__ = ["Forecast", "forecast", "forecast_bytes"]
