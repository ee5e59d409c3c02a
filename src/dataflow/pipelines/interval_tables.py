"""What the table or view of one interval of a view pipeline is called in a database. Needs no driver."""

from __future__ import annotations


def interval_table(view_name: str, dataid: str) -> str:
    """The name of an interval's table: `view_name_YYYY_MM_DD`, the day being the interval's first."""
    day = dataid + "-01" * (2 - dataid.count("-")) if len(dataid) <= len("YYYY-MM-DD") else dataid
    return f"{view_name}_{''.join(letter if letter.isalnum() else '_' for letter in day)}"
