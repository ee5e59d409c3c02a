"""What the table or view of one interval of a view pipeline is called in a database. Needs no driver."""

from __future__ import annotations

from dataflow.model.clock import first_day, period_from_text
from dataflow.model.grain import Grain
from dataflow.model.schedule import ONCE_DATAID


def interval_table(view_name: str, dataid: str) -> str:
    """The name of an interval's table: `view_name_YYYY_MM_DD`, the day being the interval's first.

    That of @once, which has no day, is `view_name_once`.
    """
    if dataid[5:6] == "Q":
        dataid = first_day(period_from_text(dataid, Grain.QUARTERLY), Grain.QUARTERLY).isoformat()
    is_part = dataid != ONCE_DATAID and len(dataid) <= len("YYYY-MM-DD")
    day = dataid + "-01" * (2 - dataid.count("-")) if is_part else dataid
    return f"{view_name}_{''.join(letter if letter.isalnum() else '_' for letter in day)}"
