"""Tables that hold published data of a dataset, and their names. Needs no driver."""

from __future__ import annotations

from dataflow.model.clock import first_day, period_from_text
from dataflow.model.grain import Grain
from dataflow.model.record import record
from dataflow.model.schedule import ONCE_DATAID

PARTITION_COLUMN = "partition_column"
"""The dataset option that names the table column with each row's dataid."""


@record
class PublishedTable:
    """A table or plain view, and the run that published each of its dataids, according to the store."""

    dataset: str
    store_id: str  # the store of these runs
    connection: str
    schema: str
    name: str
    runs: tuple[tuple[str, int], ...]  # dataid and run
    partition_column: str = ""  # "" where the table is one whole
    is_interval: bool = False  # one of several tables that form the dataset
    shows_dataid: bool = False  # adds the dataid to each row, as the lake does for a whole dataset

    def __str__(self) -> str:
        return f"{self.schema}.{self.name}"


def interval_table(view_name: str, dataid: str) -> str:
    """The name of an interval's table: `view_name_YYYY_MM_DD`, with the interval's first day.

    For @once, which has no day, it is `view_name_once`.
    """
    if dataid[5:6] == "Q":
        dataid = first_day(period_from_text(dataid, Grain.QUARTERLY), Grain.QUARTERLY).isoformat()
    is_part = dataid != ONCE_DATAID and len(dataid) <= len("YYYY-MM-DD")
    day = dataid + "-01" * (2 - dataid.count("-")) if is_part else dataid
    return f"{view_name}_{''.join(letter if letter.isalnum() else '_' for letter in day)}"
