"""Asks PostgreSQL for the values of many expressions at once, including errors."""

from __future__ import annotations

from collections.abc import Sequence

import psycopg

TRY = """
create or replace function pg_temp.attempt(expression text) returns text language plpgsql as $body$
declare found text;
begin
    execute 'select (' || expression || ')::text' into found;
    return found;
exception when others then
    return 'error: ' || sqlerrm;
end $body$
"""


class Reference:
    """A connection to a database with collation and ctype C.UTF-8, in UTC."""

    def __init__(self, url: str) -> None:
        self.connection = psycopg.connect(url, autocommit=True)
        self.connection.execute("set timezone = 'UTC'")
        self.connection.execute(TRY)

    def ask(self, expressions: Sequence[str]) -> list[str | None]:
        """The value of each expression as text, None for NULL, `error: …` for an error."""
        sql = "select pg_temp.attempt(e) from unnest(%s::text[]) with ordinality as t(e, n) order by n"
        return [row[0] for row in self.connection.execute(sql, [list(expressions)]).fetchall()]
