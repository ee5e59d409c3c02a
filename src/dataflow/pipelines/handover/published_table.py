"""Tables that hold what is published of a dataset, and what they are called. Needs no driver."""

from __future__ import annotations

from dataflow.model.clock import first_day, period_from_text
from dataflow.model.grain import Grain
from dataflow.model.record import record
from dataflow.model.schedule import ONCE_DATAID

PARTITION_COLUMN = "partition_column"
"""The dataset option that names the table column which holds each row's dataid."""


@record
class PublishedTable:
    """A table or plain view, and the run that published each dataid of it, as the store has it."""

    dataset: str
    store_id: str  # whose runs they are
    connection: str
    schema: str
    name: str
    runs: tuple[tuple[str, int], ...]  # dataid and run
    partition_column: str = ""  # "" where the table is one whole
    is_interval: bool = False  # one of several, which together are the dataset
    shows_dataid: bool = False  # to each row of a parted table, as the lake does it for a whole dataset

    def __str__(self) -> str:
        return f"{self.schema}.{self.name}"


def interval_table(view_name: str, dataid: str) -> str:
    """The name of an interval's table: `view_name_YYYY_MM_DD`, the day being the interval's first.

    That of @once, which has no day, is `view_name_once`.
    """
    if dataid[5:6] == "Q":
        dataid = first_day(period_from_text(dataid, Grain.QUARTERLY), Grain.QUARTERLY).isoformat()
    is_part = dataid != ONCE_DATAID and len(dataid) <= len("YYYY-MM-DD")
    day = dataid + "-01" * (2 - dataid.count("-")) if is_part else dataid
    return f"{view_name}_{''.join(letter if letter.isalnum() else '_' for letter in day)}"
