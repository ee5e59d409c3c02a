"""What can go wrong between a source and its part files.

DataFlowError
└── FetchError        the source did not give what was asked for
    ├── Untrusted     an answer that is not proven to be the server's own
    └── FetchStopped  the run was told to stop while it fetched
"""

from __future__ import annotations

from dataflow.errors import DataFlowError


class FetchError(DataFlowError):
    """The source did not give what was asked for; with `start_again` what is staged must not be continued."""

    code = "fetch"
    exit_code = 69
    http_status = 502

    def __init__(self, message: str, *, status: int = 0, start_again: bool = False) -> None:
        super().__init__(message)
        self.status = status
        self.start_again = start_again


class Untrusted(FetchError):
    """An answer that is not proven to be the server's own."""

    code = "fetch-untrusted"


class FetchStopped(FetchError):
    """The run was told to stop while it fetched; what is staged can be continued."""

    code = "fetch-stopped"
