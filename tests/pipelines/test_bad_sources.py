"""Sources that fail, lie or redirect: a clear error, credentials sent nowhere else, nothing published."""

from __future__ import annotations

import json

import pytest

from dataflow.errors import ConfigError
from dataflow.pipelines.show.description import describe
from tests.pipelines.answer_server import AnswerServer, Asked, Reply
from tests.pipelines.api_server import ApiServer, Hawk, make_bomb
from tests.pipelines.proxy_server import ProxyServer
from tests.pipelines.workshop import HAWK, Workshop

PIPELINE = """
    from dataflow.pipelines.declare.sources import hawk, http, limits

    class OrdersDatasetPipeline:
        table_name = "orders"
        source = http(
            constants.API + "/next",
            auth=hawk(),
            limits=limits(request_seconds=2, attempts=2, first_wait_seconds=0.01, body_bytes=1_000_000),
        )
        field_mapping = [("id", "order_id", "bigint PRIMARY KEY")]
"""
DAY = "2026-11-14"
ROWS = [{"id": number} for number in range(50)]


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("truncated", "JSON"),
        ("html", "HTML"),
        ("wrong mac", "could not be verified: "),
        ("no mac", "no Server-Authorization"),
        ("tampered", "could not be verified: "),
        ("bomb", "larger than 1,000,000 bytes uncompressed"),
        ("hang", "2 s"),
        ("500", "500"),
        ("loop", "links back to"),
        ("elsewhere", "127.0.0.1"),
    ],
)
def test_a_broken_source_is_reported_and_nothing_is_published(
    workshop: Workshop, fault: str, reason: str
) -> None:
    hawk = Hawk(HAWK["HAWK_ID"], HAWK["HAWK_KEY"])
    make_bomb()  # which may take longer than the request timeout on a busy machine
    with ApiServer(ROWS, 10, hawk) as api, ApiServer(ROWS, 10, hawk) as other:
        api.elsewhere = other.origin
        api.fail(2, fault, times=9)
        workshop.environ["API"] = api.origin
        workshop.write("orders.py", PIPELINE)
        outcome = workshop.run("OrdersDatasetPipeline", DAY)
    assert outcome.failed == 1
    assert reason in str(outcome.error), str(outcome.error)
    assert HAWK["HAWK_KEY"] not in " ".join(workshop.said)
    assert other.seen == []
    assert workshop.chunk("orders", DAY).version == 0


def test_a_source_can_be_read_anonymously_even_if_credentials_are_set(workshop: Workshop) -> None:
    with ApiServer(ROWS, 10) as api:
        workshop.environ["API"] = api.origin
        workshop.write("orders.py", PIPELINE.replace("hawk", "anonymous"))
        assert workshop.run("OrdersDatasetPipeline", DAY).done == 1, workshop.said
        assert {seen.headers.get("Authorization") for seen in api.seen} == {None}
    shown = describe(workshop.catalog().get("OrdersDatasetPipeline"), workshop.settings())
    assert shown["source"]["authentication"] == "none"


LINKED = """
    from dataflow.pipelines.declare.sources import http, limits, link_header, oauth2

    class OrdersDatasetPipeline:
        table_name = "orders"
        source = http(
            "http://api.example/rows",
            pages=link_header(),
            auth=oauth2("http://login.example/token", scope="read"),
            limits=limits(attempts=1),
            nan="null",
        )
        field_mapping = [("id", "order_id", "bigint PRIMARY KEY"), ("price", "double precision")]
"""


def answer_linked(asked: Asked) -> Reply:
    if asked.path == "/token":
        return Reply({"access_token": "access-secret", "token_type": "bearer"})
    if asked.headers.get("Authorization") != "Bearer access-secret":
        return Reply({}, 401)
    if "page" in asked.query:
        return Reply(b'[{"id": 3, "price": 2.5}]')
    body = b'[{"id": 1, "price": NaN}, {"id": 2, "price": -Infinity}]'
    return Reply(body, headers=[("Link", '<?page=2>; rel="next"')])


def test_a_token_a_proxy_link_headers_and_nan_work_together(workshop: Workshop) -> None:
    with AnswerServer(answer_linked) as api, ProxyServer({}, "me:proxy-secret") as proxy:
        proxy.hosts = {"api.example": api.port, "login.example": api.port}
        workshop.environ = {"OAUTH_CLIENT_ID": "us", "OAUTH_CLIENT_SECRET": "client-secret"}
        workshop.environ["http_proxy"] = proxy.origin.replace("://", "://me:proxy-secret@")
        workshop.write("orders.py", LINKED)
        assert workshop.run("OrdersDatasetPipeline", DAY).done == 1, workshop.said
        assert len(proxy.seen) == 3
    found = sorted((row["order_id"], row["price"]) for row in workshop.rows("orders", DAY))
    assert found == [(1, None), (2, None), (3, 2.5)]
    shown = describe(workshop.catalog().get("OrdersDatasetPipeline"), workshop.settings())["source"]
    assert shown["authentication"] == (
        "oauth2, token of http://login.example/token, from OAUTH_CLIENT_ID, OAUTH_CLIENT_SECRET"
    )
    assert (shown["pagination"], shown["nan"]) == ("link_header()", "null")


def test_a_token_that_an_api_echoes_is_hidden(workshop: Workshop) -> None:
    def answer(asked: Asked) -> Reply:
        reply = answer_linked(asked)
        echoed = f"{asked.headers.get('Authorization', '')} of client-secret by proxy-secret"
        return reply if asked.path == "/token" else Reply([{"id": echoed, "price": 1}])

    with AnswerServer(answer) as api, ProxyServer({}) as proxy:
        proxy.hosts = {"api.example": api.port, "login.example": api.port}
        workshop.environ = {"OAUTH_CLIENT_ID": "us", "OAUTH_CLIENT_SECRET": "client-secret"}
        workshop.environ["ALL_PROXY"] = proxy.origin.replace("://", "://me:proxy-secret@")
        workshop.write("orders.py", LINKED)
        assert workshop.run("OrdersDatasetPipeline", DAY).failed == 1
    texts = "\n".join([workshop.log(), *workshop.said])
    assert "Bearer *** of *** by ***" in texts
    assert "secret" not in texts.replace("OAUTH_CLIENT_SECRET", "")


def test_an_invalid_proxy_is_reported_before_anything_is_claimed(workshop: Workshop) -> None:
    workshop.environ = {"OAUTH_CLIENT_ID": "us", "OAUTH_CLIENT_SECRET": "x", "ALL_PROXY": "socks5://proxy"}
    workshop.write("orders.py", LINKED)
    with pytest.raises(ConfigError, match="ALL_PROXY is a 'socks5' proxy: only http and https"):
        workshop.run("OrdersDatasetPipeline", DAY)
    assert workshop.chunk("orders", DAY) is None


def test_rows_are_found_by_the_path_of_their_key_when_fetched_and_when_read(workshop: Workshop) -> None:
    page = {"next": None, "data.items": [{"id": 9}], "data": {"items": [{"id": 1}, {"id": 2, "new": 1}]}}
    with ApiServer(ROWS, 10) as api:
        api._bodies["next", 0, 10] = json.dumps(page).encode()
        workshop.environ = {"API": api.origin}
        ways = 'auth=anonymous(),\n            pages=next_link(results="data.items"),'
        text = PIPELINE.replace("auth=hawk(),", ways).replace("import hawk", "import anonymous, next_link")
        workshop.write("orders.py", text)
        outcome = workshop.run("OrdersDatasetPipeline", DAY)
    assert outcome.error is None
    assert [row["order_id"] for row in workshop.rows("orders", DAY)] == [1, 2]


@pytest.mark.parametrize("limit", ["two", "0", "-1"])
def test_a_task_limit_that_is_not_a_number_is_reported(workshop: Workshop, limit: str) -> None:
    with ApiServer(ROWS, 10) as api:
        workshop.environ |= {"API": api.origin, "INGEST_TASK_CONCURRENCY": limit}
        workshop.write("orders.py", PIPELINE.replace("hawk", "anonymous"))
        outcome = workshop.run("OrdersDatasetPipeline", DAY)
    assert f'INGEST_TASK_CONCURRENCY is "{limit}"' in str(outcome.error)


def test_a_source_is_not_requested_if_its_key_is_missing(workshop: Workshop) -> None:
    with ApiServer(ROWS, 10) as api:
        workshop.environ = {"API": api.origin}
        workshop.write("orders.py", PIPELINE)
        with pytest.raises(ConfigError, match="HAWK_ID is not set"):
            workshop.run("OrdersDatasetPipeline", DAY)
    assert api.seen == []
    assert workshop.store.read.list_runs() == []
