"""Pairs: load the explicit list of an input mapped `pairs`, all of it or, if a line is wrong, nothing."""

from __future__ import annotations

import csv

from dataflow.actions.names import get_dataset
from dataflow.errors import BadInput, Conflict
from dataflow.model.dataid import canonical_dataid
from dataflow.model.grain import Grain
from dataflow.model.job_dataid import job_dataid
from dataflow.model.mapping import PAIRS
from dataflow.model.record import record
from dataflow.model.wording import counted, quoted
from dataflow.store import registry
from dataflow.store.journal import JournalEntry, write_journal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dataflow.model.records import Dataset, Plan
    from dataflow.store.database import Transaction
    from dataflow.store.store import Store

COLUMNS = 2


@record
class PairsResult:
    """How many pairs an input has now, of how many works and chunks."""

    pairs: int
    works: int
    chunks: int


def load_pairs(store: Store, plan: Plan, name: str, lines: Iterable[str], new: bool = False) -> PairsResult:
    """Replace the list of an input: per line a dataid of the job and a dataid of the input that it needs.

    BadInput names the line that cannot be read, or whose chunk is unknown: of a dataset with text dataids and
    some chunks, one that it does not have, unless `new` allows it. Then the list stays as it was.
    """
    dataset_id, dataset = get_dataset(store, name)
    _get_position(plan, dataset_id, name)
    numbered = _read(plan, dataset, lines)
    if not new and dataset.grain == Grain.TEXT and store.read.count_chunks(dataset_id):
        _refuse_unknown(store, dataset_id, name, numbered)

    def verb(tx: Transaction) -> None:
        current = registry.find_plan(tx, plan.job.name)
        if current is None or current.job_id != plan.job_id:
            raise Conflict(f"Job {plan.job.name} was removed. List: dataflow job list")
        _get_position(current, dataset_id, name)
        registry.set_pairs(tx, current, dataset_id, list(numbered))
        why = f"{len(numbered)} pairs"
        write_journal(tx, JournalEntry("job pairs", store.actor, plan.job.name, name, why=why))

    store.register(verb)
    works, chunks = {work for work, _ in numbered}, {chunk for _, chunk in numbered}
    return PairsResult(len(numbered), len(works), len(chunks))


def _get_position(plan: Plan, dataset_id: int, name: str) -> int:
    for source in plan.inputs:
        if source.dataset_id == dataset_id and source.mapping == PAIRS:
            return source.position
    raise BadInput(
        f"Job {plan.job.name} does not read {name}:{PAIRS}. Change its inputs first: dataflow job add "
        f"{plan.job.name} --in {name}:{PAIRS}"
    )


def _read(plan: Plan, dataset: Dataset, lines: Iterable[str]) -> dict[tuple[str, str], int]:
    """Return the pairs in canonical form, each with its line."""
    found: dict[tuple[str, str], int] = {}
    grain = Grain(dataset.grain)
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if not text:
            continue
        try:
            fields = text.split()
            if "," in text:
                fields = next(csv.reader([text], skipinitialspace=True, strict=True))
            if len(fields) != COLUMNS:
                raise BadInput(
                    f"{quoted(text)} has {counted(len(fields), 'column')}, not 2. Write a dataid of "
                    f"{plan.job.name} and a dataid of {dataset.name}, separated by a comma or white space."
                )
            work = job_dataid(fields[0].strip(), plan)
            chunk = canonical_dataid(fields[1].strip(), grain, dataset.timezone)
        except (BadInput, csv.Error) as error:
            raise BadInput(f"Line {number}: {error} Nothing was changed.") from error
        found.setdefault((work, chunk), number)
    return found


def _refuse_unknown(store: Store, dataset_id: int, name: str, numbered: dict[tuple[str, str], int]) -> None:
    wanted = {chunk for _, chunk in numbered}
    unknown = wanted - store.read.list_known_chunks(dataset_id, sorted(wanted))
    for (_, chunk), number in numbered.items():
        if chunk in unknown:
            more = f" (and {len(unknown) - 1:,} others)" if len(unknown) > 1 else ""
            raise BadInput(
                f"Line {number}: dataset {name} has no chunk {quoted(chunk)}{more}. Nothing was changed. "
                f"Correct it, or allow chunks that are to come: --new"
            )
