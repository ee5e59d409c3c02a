"""Checks that need a pass over the staged rows, run by the database that holds them."""

from __future__ import annotations

from psycopg import errors as pg_errors
from psycopg import sql

from dataflow.errors import BadInput
from dataflow.pipelines.handover.records import Staged
from dataflow.pipelines.postgres.staging_table import StagingTable, attempt_numbers
from dataflow.pipelines.postgres.table import ATTEMPT
from dataflow.pipelines.postgres.transactions import Session
from dataflow.pipelines.shape.checks import Check
from dataflow.pipelines.sql.parsing import read_statement

SHOWN = 3
ACCEPTED = sql.SQL("select * from {staging} where {attempt} = any(%(attempts)s)")
# Keys that contain NULL equal nothing.
TWINS = sql.SQL("""
    select sum(twins.rows) over (), twins.key from (
        select count(*) as rows, row({columns})::text as key from ({rows}) r
        where {no_nulls} group by {columns} having count(*) > 1) twins
    limit {shown}
""")
FALSE = sql.SQL(
    "select count(*) over (), to_jsonb(r)::text from ({rows}) r where not ({condition}) limit {shown}"
)


def count_bad_rows(
    session: Session, check: Check, staging: StagingTable, accepted: list[Staged]
) -> tuple[int, list[str]]:
    """Count the accepted rows that violate a uniqueness or SQL check, with a few samples."""
    rows = ACCEPTED.format(staging=staging.identifier, attempt=sql.Identifier(ATTEMPT))
    session.execute("set transaction read only")
    try:
        found = session.execute(_statement(check, rows), {"attempts": attempt_numbers(accepted)}).fetchall()
    except (pg_errors.SyntaxErrorOrAccessRuleViolation, pg_errors.ReadOnlySqlTransaction) as error:
        raise BadInput(f"check {check}: {error.diag.message_primary}") from error
    return (int(found[0][0]) if found else 0), [row[1] for row in found]


def _statement(check: Check, rows: sql.Composed) -> sql.Composed:
    shown = sql.Literal(SHOWN)
    if check.kind == "unique":
        columns = [sql.Identifier(name) for name in check.values]
        no_nulls = sql.SQL(" and ").join(sql.SQL("{} is not null").format(column) for column in columns)
        return TWINS.format(rows=rows, columns=sql.SQL(", ").join(columns), no_nulls=no_nulls, shown=shown)
    # Parsed on its own first: a condition cannot close the parentheses around it.
    statement = read_statement(f"select 1 where ({check.values[0]})", "postgres", f"check {check}")
    condition = statement.args["where"].this.sql(dialect="postgres", comments=False).replace("%", "%%")
    return FALSE.format(rows=rows, condition=sql.SQL(condition), shown=shown)
