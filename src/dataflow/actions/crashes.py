"""The evidence of quarantined work: which of its runs died, where and when, and what they last wrote."""

from __future__ import annotations

import os

from dataflow.model.answers import CrashEvidence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.actions.work_case import WorkCase
    from dataflow.model.records import WorkRow

SHOWN_LINES = 3
READ_BYTES = 8192


def list_crashes(case: WorkCase, work: WorkRow) -> list[CrashEvidence]:
    """Return the runs that quarantined work has killed, oldest first, as far as they are kept."""
    if not work.quarantined:
        return []
    found = case.store.read.list_crashes(work.work_id, work.dataid, work.losses)
    return [
        CrashEvidence(crash.run_id, crash.host, crash.ended_at, _last_lines(case, crash.run_id, crash.host))
        for crash in found
    ]


def _last_lines(case: WorkCase, run_id: int, host: str) -> tuple[str, ...]:
    """Return the end of a run's log, which holds no secrets; nothing if it is elsewhere or was deleted."""
    if host != case.config.host:
        return ()
    try:
        with open(os.path.join(case.config.log_dir, f"{run_id}.log"), "rb") as log:
            log.seek(0, os.SEEK_END)
            log.seek(max(0, log.tell() - READ_BYTES))
            text = log.read().decode("utf-8", "replace")
    except OSError:
        return ()
    return tuple([line.strip() for line in text.splitlines() if line.strip()][-SHOWN_LINES:])
