"""Things as they are shown to programs: the JSON of the commands and of the API. No secret is in it."""

from __future__ import annotations

from collections import Counter

from dataflow.actions.next_commands import plan_command
from dataflow.model.mapping import PAIRS
from dataflow.model.record import as_dict, names_of, pick
from dataflow.model.status import RunOutcome
from dataflow.model.url_text import masked_host, masked_pairs, without_secrets
from dataflow.model.wording import format_seconds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from dataflow.actions.control import PoolStatus
    from dataflow.actions.invalidate import WrongData
    from dataflow.actions.lineage import Lineage
    from dataflow.model.answers import Why
    from dataflow.model.incident import DeliveryRow, Incident
    from dataflow.model.records import ChunkRow, Dataset, Plan, RunRow, WorkRow
    from dataflow.model.worker_rows import WorkerRow
    from dataflow.store.chunk_reads import KeptVersion
    from dataflow.store.reader import JournalRow
    from dataflow.store.store import Store

CONNECTION = ("hostname", "database", "schemaname", "tablename", "username")
DATASET_FIELDS = (*CONNECTION, "location", "format", "grain", "timezone", "mode", "due_by")
RUN_FIELDS = (
    *("run_id", "job", "dataid", "attempt", "outcome", "exit_code", "host"),
    *("started_at", "ended_at", "reason"),
)
CHUNK_FIELDS = ("dataset", "dataid", "status", "version", "modified_at", "readers")
VERSION_FIELDS = ("version", "run_id", "rows", "size", "published_at", "current")
AFFECTED_FIELDS = ("dataset", "dataid", "version", "run_id")
JOB_FIELDS = (
    *("schedule", "start", "end", "timezone", "pool", "order", "catchup", "ordered"),
    *("retries", "max_running", "priority", "max_crashes"),
    *("retry_delay_seconds", "lease_seconds", "grace_seconds", "timeout_seconds"),
    *("retry_max_delay_seconds", "late_after_seconds", "on_change", "retry_backoff"),
)


def describe_dataset(dataset: Dataset) -> dict[str, Any]:
    """A dataset: whether it has a password, never the password or another secret."""
    record: dict[str, Any] = {"dataset": dataset.name} | pick(dataset, *DATASET_FIELDS)
    record["location"] = without_secrets(dataset.location)
    seconds = dataset.fresh_within_seconds
    record["fresh_within"] = format_seconds(seconds) if seconds else ""
    record["hostname"] = masked_host(dataset.hostname)
    return record | {"options": dict(masked_pairs(dataset.options)), "password": bool(dataset.encryptedpass)}


def describe_whole_dataset(
    store: Store, found: tuple[int, Dataset], checks: Mapping[str, tuple[str, ...]]
) -> dict[str, Any]:
    """A dataset with who produces and reads it, how many chunks it has, and its check on this machine."""
    dataset_id, dataset = found
    plans = store.read.list_plans()
    record = describe_dataset(dataset)
    record["produced_by"] = next((plan.job.name for plan in plans if dataset.name in plan.job.outputs), None)
    record["read_by"] = [
        plan.job.name for plan in plans if any(item.dataset.name == dataset.name for item in plan.inputs)
    ]
    record["chunks"] = store.read.count_chunks(dataset_id)
    check = checks.get(dataset.name)
    return record | {"check": list(check) if check else None}


def describe_job(plan: Plan, hold: bool) -> dict[str, Any]:
    """A job."""
    job = plan.job
    record: dict[str, Any] = {
        "job": job.name,
        "in": [str(item) for item in job.inputs],
        "out": list(job.outputs),
        "environment": dict(masked_pairs(job.environment)),
    }
    record |= pick(job, *JOB_FIELDS) | {"final_exit_codes": list(job.final_exit_codes)}
    return record | {"grain": plan.grain, "hold": hold}


def describe_whole_job(store: Store, plan: Plan, commands: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
    """A job with its kind, its script, the command of this machine's worker, and how many pairs it has."""
    record = describe_job(plan, store.read.is_job_held(plan.job_id))
    lists = [source for source in plan.inputs if source.mapping == PAIRS]
    if lists:
        read = store.read
        record["pairs"] = {
            source.dataset.name: read.count_pairs(plan.job_id, source.dataset_id) for source in lists
        }
    command = commands.get(plan.job.name)
    record |= {"kind": plan.kind or None, "script_path": plan.script_path or None}
    return record | {"command": list(command) if command else None}


def describe_run(run: RunRow, lost: str) -> dict[str, Any]:
    """A run with its stored outcome; `lost` says why it is not at work although it counts as RUNNING."""
    return pick(run, *RUN_FIELDS) | {"process_gone": bool(lost)}


def find_loss(run: RunRow, host: str, is_gone: Callable[[str], bool]) -> str:
    """Return why a run that counts as RUNNING is not at work any more; "" while it may be."""
    if run.outcome is not RunOutcome.RUNNING:
        return ""
    if run.host == host and is_gone(run.claimant):
        return "process gone"
    return "" if (run.lease_left_seconds or 0) > 0 else "lease lapsed"


def describe_chunk(chunk: ChunkRow) -> dict[str, Any]:
    """A chunk; `lacked` counts the chunks that its run needed and did without."""
    return pick(chunk, *CHUNK_FIELDS) | {"partial": bool(chunk.lacked), "lacked": chunk.lacked}


def describe_version(version: KeptVersion) -> dict[str, Any]:
    """A kept version of a chunk."""
    return pick(version, *VERSION_FIELDS) | {"location": without_secrets(version.location)}


def describe_why(found: Why, plan: Plan) -> dict[str, Any]:
    """An explanation of work; for a pipeline, with the command that shows what it would do."""
    answers = [answer.as_dict() for answer in found.answers]
    head = {"job": found.job, "dataid": found.dataid, "verdict": found.verdict}
    crashes = [as_dict(crash) for crash in found.crashes]
    more = {"answers": answers, "next": found.next, "crashes": crashes}
    return head | more | {"plan": plan_command(plan, found.dataid)}


def describe_work(work: WorkRow) -> dict[str, Any]:
    """The work of a dataid, as the store has it."""
    return pick(work, *[name for name in names_of(work) if name != "work_id"])


def describe_line(line: JournalRow) -> dict[str, Any]:
    """A line of the journal."""
    return as_dict(line)


def describe_incident(incident: Incident, deliveries: Sequence[DeliveryRow]) -> dict[str, Any]:
    """An incident and who was notified."""
    found = as_dict(incident)
    number, items = found.pop("incident_id"), found.pop("items")
    told = [pick(one, *[name for name in names_of(one) if name != "incident_id"]) for one in deliveries]
    return {"id": number, **found, "chunks": items, "notifications": told}


def describe_worker(row: WorkerRow) -> dict[str, Any]:
    """A worker and what it is doing."""
    found = {"worker": row.name} | as_dict(row) | {"doing": [as_dict(run) for run in row.doing]}
    return {name: value for name, value in found.items() if name not in ("name", "has_lapsed", "boot_id")}


def describe_pool(pool: PoolStatus) -> dict[str, Any]:
    """A pool, its jobs and the runs that use it."""
    counts = Counter([use.job for use in pool.uses])
    jobs = [
        {"job": job, "running": counts[job], "run_ids": [use.run_id for use in pool.uses if use.job == job]}
        for job in pool.jobs
    ]
    return {"pool": pool.pool, "size": pool.size, "running": len(pool.uses), "jobs": jobs}


def describe_wrong_data(found: WrongData) -> dict[str, Any]:
    """What an invalidation affects."""
    return {
        "dataset": found.dataset,
        "dataids": [one.dataid for one in found.named],
        "affected": [pick(chunk, *AFFECTED_FIELDS) for chunk in found.chunks],
        "running": _list_readers(found, at_work=True),
        "done_without_output": _list_readers(found, at_work=False),
        "jobs": list(found.jobs),
    }


def _list_readers(found: WrongData, at_work: bool) -> list[dict[str, Any]]:
    runs = {one.run_id: one for one in found.readers if one.is_at_work is at_work}
    return [pick(one, "run_id", "job", "dataid") for one in runs.values()]


def describe_lineage(found: Lineage) -> dict[str, Any]:
    """A graph: nodes, and edges in the direction of the data."""
    return {
        "roots": list(found.roots),
        "nodes": [
            {"id": node.id, "kind": node.kind, "name": node.name, **dict(node.facts)}
            for node in found.nodes.values()
        ],
        "edges": [{"from": edge.source, "to": edge.target, "note": edge.note} for edge in found.edges],
    }
