"""What has happened to the inputs of a published result since it was made, in words."""

from __future__ import annotations

from dataflow.actions.next_commands import resubmit_command, shell, why_command
from dataflow.actions.work_case import Reason

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.actions.work_case import WorkCase
    from dataflow.store.chunk_reads import ChunkFacts
    from dataflow.store.lineage_reads import PinnedChunk

SHOWN = 3


def explain_stale(case: WorkCase, text: str, chunk: ChunkFacts) -> Reason:
    """Explain a STALE result of finished work: somebody has to decide, or an input is redone first."""
    pins = case.store.read.list_changed_pins(chunk.run_id) if chunk.run_id else []
    job = case.plan.job
    if not chunk.outdated:
        stale = next((pin for pin in pins if pin.stale), None)
        found = f"{stale.dataset}/{stale.dataid} is STALE" if stale else "an input is STALE"
        producer = _producer_of(case, stale) if stale else None
        command = why_command(producer, stale.dataid) if producer and stale else why_command(job.name)
        if case.depth:  # continues a sentence about the job
            return Reason(f"made it from an input that is STALE: {found}", command)
        return Reason(f"{text} is STALE: it was made from an input that is: {found}", command)
    asks = f"job {job.name} asks before it is made again (--on-change {job.on_change})"
    if job.late_after_seconds:
        asks = f"the change came late (--late-after), so job {job.name} asks before it is made again"
    keep = shell("dataflow", "accept", job.name, case.dataid)
    cause = _cause_of(pins) or "an input changed"
    if case.depth:
        return Reason(f"asks before it makes it again: {cause}", resubmit_command(job.name, case.dataid))
    return Reason(
        f"{text} is STALE: {cause}; {asks}. To keep it as it is: {keep}",
        resubmit_command(job.name, case.dataid),
    )


def describe_change(case: WorkCase) -> str:
    """Return which inputs of a stale result have changed since it was made; "" if none is known."""
    for output in case.plan.outputs:
        chunk = case.find_chunk(output.dataset_id)
        if chunk is not None and chunk.is_stale and chunk.run_id:
            return _cause_of(case.store.read.list_changed_pins(chunk.run_id))
    return ""


def list_withdrawn(case: WorkCase, run_id: int, datasets: set[str]) -> list[str]:
    """Return which chunks that a run read of some datasets were withdrawn since; it names the first few."""
    pins = case.store.read.list_changed_pins(run_id) if datasets else []
    names = [f"{pin.dataset}/{pin.dataid}" for pin in pins if pin.withdrawn and pin.dataset in datasets]
    more = [f"and {len(names) - SHOWN} more"] if len(names) > SHOWN else []
    return [*(f"{name} was withdrawn" for name in names[:SHOWN]), *more]


def _cause_of(pins: list[PinnedChunk]) -> str:
    return _listed([_changed(pin) for pin in pins if not pin.stale or pin.version > pin.read_version])


def describe_older(case: WorkCase, chunk: ChunkFacts) -> str:
    """Return which inputs a current result has read in an older version: ignored, or accepted since."""
    pins = case.store.read.list_changed_pins(chunk.run_id) if chunk.run_id else []
    older = [_changed(pin) for pin in pins if pin.version > pin.read_version]
    return f", although {_listed(older)}" if older else ""


def _changed(pin: PinnedChunk) -> str:
    name = f"{pin.dataset}/{pin.dataid}"
    if pin.version > pin.read_version:
        return f"{name} has version {pin.version}, and it was made from version {pin.read_version}"
    return f"{name} was withdrawn"


def _listed(parts: list[str]) -> str:
    more = f" and {len(parts) - SHOWN} more" if len(parts) > SHOWN else ""
    return ", ".join(parts[:SHOWN]) + more


def _producer_of(case: WorkCase, pin: PinnedChunk) -> str | None:
    found = case.store.find_dataset(pin.dataset)
    return case.store.read.find_producer(found[0]) if found else None
