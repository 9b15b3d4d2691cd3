"""A client of a mucast service for notebooks and programs: data frames in, forecasts, metrics and reports out."""

from .client import Client
from .errors import (
    ApiError,
    ConnectionLostError,
    MucastError,
    NoEventStreamError,
    OperationCanceledError,
    OperationFailedError,
    RequestRefusedError,
    UnexpectedAnswerError,
    WaitTimeoutError,
)
from .job import Job
from .report import Report
from .results import AuditResult, ForecastResult, ReplayResult
from .version import __version__

__all__ = [
    "ApiError",
    "AuditResult",
    "Client",
    "ConnectionLostError",
    "ForecastResult",
    "Job",
    "MucastError",
    "NoEventStreamError",
    "OperationCanceledError",
    "OperationFailedError",
    "ReplayResult",
    "Report",
    "RequestRefusedError",
    "UnexpectedAnswerError",
    "WaitTimeoutError",
    "__version__",
]
