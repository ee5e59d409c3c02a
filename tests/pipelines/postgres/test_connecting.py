"""Errors of failed connections: one sentence, and no password."""

from __future__ import annotations

import traceback

import pytest
from psycopg.conninfo import make_conninfo

from dataflow.errors import ConfigError, DataFlowError, TargetDenied, TargetError, TargetUnreachable
from dataflow.model.record import replace
from dataflow.pipelines.handover.connection import Connection
from dataflow.pipelines.postgres.transactions import transaction
from tests.pipelines.postgres.orders import ORDERS, make_target
from tests.postgres import find_free_port

PASSWORD = "hunter2hunter2"


def fail(url: str, **options: object) -> DataFlowError:
    with pytest.raises(DataFlowError) as raised:
        make_target(url, **options).begin()  # type: ignore[arg-type]
    assert PASSWORD not in str(raised.value) and "\n" not in str(raised.value)
    assert PASSWORD not in "".join(traceback.format_exception(raised.value))  # as in a run's log
    return raised.value


def test_a_wrong_password_is_reported_as_such(postgres_url: str) -> None:
    error = fail(make_conninfo(postgres_url, password=PASSWORD))
    assert isinstance(error, TargetDenied)
    assert "Connection warehouse was refused: password authentication failed" in str(error)


def test_an_unreachable_server_is_reported_as_such() -> None:
    error = fail(f"postgresql://me:{PASSWORD}@127.0.0.1:{find_free_port()}/db")
    assert isinstance(error, TargetUnreachable)
    assert "Connection warehouse does not answer" in str(error)


@pytest.mark.parametrize("url", [f"postgresql://me:{PASSWORD}@[::1/db", f"nonsense {PASSWORD}"])
def test_a_malformed_url_is_not_shown(url: str) -> None:
    assert isinstance(fail(url), ConfigError)


def test_a_missing_schema_is_named(postgres_url: str) -> None:
    error = fail(postgres_url, table=replace(ORDERS, schema="nowhere"))
    assert isinstance(error, TargetError)
    assert 'schema "nowhere" does not exist. Create it' in str(error)


def test_the_error_of_a_server_with_a_full_disk_is_passed_on(postgres_url: str) -> None:
    raised = "raise exception 'could not extend file' using errcode = '53100', hint = 'Free it.';"
    with (
        pytest.raises(TargetError) as caught,
        transaction(Connection("warehouse", postgres_url)) as session,
    ):
        session.execute(f"do $$ begin {raised} end $$")
    assert type(caught.value) is TargetError
    assert str(caught.value) == "Connection warehouse answered: could not extend file. Free it."
