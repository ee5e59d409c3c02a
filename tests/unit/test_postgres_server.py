"""The PostgreSQL that tests run on is real, private to a test, and survives a crash."""

from __future__ import annotations

from collections.abc import Callable

import psycopg
import pytest

from tests.postgres import PostgresServer


def test_a_test_gets_a_database_that_answers(postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        assert connection.execute("select 1").fetchone() == (1,)


@pytest.mark.parametrize("turn", ["first", "second"])
def test_a_test_does_not_see_tables_of_another_test(postgres_url: str, turn: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        connection.execute("create table left_behind (turn text)")


@pytest.mark.full
@pytest.mark.parametrize("crash", [PostgresServer.stop, PostgresServer.kill])
def test_a_private_server_keeps_port_and_committed_rows_over_a_crash(
    crash: Callable[[PostgresServer], None],
) -> None:
    with PostgresServer.create(durable=True) as server:
        url = server.url()
        with psycopg.connect(url) as connection:
            connection.execute("create table kept as select 1 as one")
        crash(server)
        assert not server.is_running()
        server.start()
        with psycopg.connect(url) as connection:
            assert connection.execute("select one from kept").fetchone() == (1,)


@pytest.mark.full
def test_the_socket_needs_no_password_and_tcp_does() -> None:
    with PostgresServer.create() as server:
        psycopg.connect(server.socket_url()).close()
        with pytest.raises(psycopg.OperationalError, match="password"):
            psycopg.connect(server.url().replace(server.password, "wrong"))
