"""Handling of values that do not fit: the run fails, or their rows are set aside up to a limit."""

from __future__ import annotations

from decimal import Decimal

from dataflow.errors import BadInput
from dataflow.model.record import record
from dataflow.model.wording import plural


@record
class RejectPolicy:
    """`fail` or `quarantine`; the latter allows `limit` rows, or that share of all rows if below 1."""

    action: str = "fail"
    limit: float = 0


@record
class Decision:
    """Whether the rows that fit may be published without the others, and why."""

    accepted: bool
    reason: str


def make_policy(action: str = "fail", limit: float | None = None) -> RejectPolicy:
    """The policy that a pipeline declares; raises BadInput if it is invalid."""
    if action == "fail" and limit is None:
        return RejectPolicy()
    if action != "quarantine":
        raise BadInput(f"rejects {action!r} with limit {limit!r}: write 'fail', or 'quarantine' with a limit")
    if isinstance(limit, bool) or not isinstance(limit, int | float) or not 0 < limit < float("inf"):
        raise BadInput(
            f"rejects 'quarantine' needs a limit: rows such as 100, or a share such as 0.01, not {limit!r}"
        )
    if limit >= 1 and not isinstance(limit, int):  # 1.0 is ambiguous: one row, or all of them
        raise BadInput(
            f"rejects limit {limit!r} is neither a whole number of rows, such as {int(limit)}, "
            "nor a share below 1"
        )
    return RejectPolicy(action, limit)


def decide(policy: RejectPolicy, rejected: int, rows: int) -> Decision:
    """Decide whether `rejected` of `rows` rows may be left out."""
    if not rejected:
        return Decision(True, "the only row fits" if rows == 1 else f"all {rows} rows fit")
    do = "does" if rejected == 1 else "do"
    found = f"{rejected} of {rows} {plural(rows, 'row')} {do} not fit"
    if policy.action == "fail":
        advice = 'fix the source or the mapping, or allow a few rejects: rejects = {"quarantine": 100}'
        return Decision(False, f"{found}; {advice}")
    if policy.limit < 1:
        most = rows * Decimal(str(policy.limit))  # through its text: 0.29 of 100 rows is 29
        return Decision(rejected <= most, f"{found}; the limit is {policy.limit * 100:g} %")
    return Decision(rejected <= policy.limit, f"{found}; the limit is {policy.limit:g}")
