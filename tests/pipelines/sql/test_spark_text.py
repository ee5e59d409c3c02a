"""SQL in Spark's own dialect: the generated SQL means the same as the original, or it is refused."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from dataflow.errors import BadInput
from dataflow.pipelines.sql.spark_functions import ALLOWED, REFUSED
from dataflow.pipelines.sql.translation import translate

QUERIES = (Path(__file__).parent / "spark_queries.sql").read_text().splitlines()
"""One query per line. Spark can run each of them."""
ORDERS = """
    select * from values
        (1, 'order 1', cast(10.75 as decimal(38, 18)), timestamp '2024-01-02 03:04:05', array('x', 'y')),
        (2, 'order 2', 20.5, timestamp '2024-05-06 07:08:09', array('z')),
        (3, null, null, null, null) as t(id, name, amount, at, tags)
"""
SYNTAX = {"and", "between", "case", "in", "not", "or"}
"""Spark lists these as functions, but they are not called like functions."""
ISSUE = """select /* /*+ */ reflect('java.lang.System', 'getenv', 'PASSKEY') as x, -- */
 1 as y from orders"""


@pytest.fixture
def session(spark: SparkSession) -> Iterator[SparkSession]:
    own = spark.newSession()
    own.sql(ORDERS).cache().createOrReplaceTempView("orders")
    yield own
    own.catalog.clearCache()


def answer(session: SparkSession, sql: str) -> tuple[str, list[str]]:
    """Names, types and rows, without Spark's expression ids."""
    rows = session.sql(sql)
    plain = re.compile(r"#\d+")
    return plain.sub("", rows.schema.simpleString()), sorted(
        plain.sub("", str(row)) for row in rows.collect()
    )


def test_generated_sql_returns_the_same_columns_and_rows_as_the_original(session: SparkSession) -> None:
    different = []
    for sql in QUERIES:
        written = translate(sql, "spark", {"orders": {}}).sql
        if answer(session, sql) != answer(session, written):
            different.append((sql, written))
    assert different == []


def test_every_spark_function_is_either_allowed_or_refused(spark: SparkSession) -> None:
    known = {row[0] for row in spark.sql("show functions").collect() if row[0][0].isalpha()}
    grammar = {"timestampadd", "timestampdiff"}
    assert known - SYNTAX | grammar == ALLOWED | REFUSED
    assert not ALLOWED & REFUSED


@pytest.mark.parametrize(
    "sql",
    [
        ISSUE,
        ISSUE.replace("\n", "\r"),
        "select reflect('java.lang.System', 'getenv', 'HOME')",
        "select `Reflect`('java.lang.System', 'getenv', 'HOME')",
        "select system.builtin.reflect('java.lang.System', 'getenv', 'HOME')",
        "select java_method('java.lang.System', 'getenv', 'HOME')",
        "select try_reflect('java.lang.System', 'getenv', 'HOME')",
        "select transform(array('x'), x -> reflect('java.lang.System', 'getenv', x))",
        "select * from orders where id in (select reflect('java.lang.System', 'getenv', 'HOME'))",
        "select * from identifier('orders')",
        "select identifier('reflect')('java.lang.System', 'getenv', 'HOME')",
        "select identifier('id') from orders",
        "select id -- \\\n, name from orders",
        "select id -- \\\r, name from orders",
        "select id -- a\r, reflect('java.lang.System', 'getenv', 'HOME') from orders",
        "select r'\\d', id from orders",
        'select R"\\d" from orders',
        "select /*+ broadcast(o) */ id from orders o",
        "select id /* one /* two */ three */ from orders",
        "select id /*/ , name /*/ from orders",
        "select '${env:HOME}'",
        "select '$\\{env:HOME}', '${'",
        "select input_file_name(), from_avro(name, 'x') from orders",
        "select from_protobuf(name, 'M', '/etc/passwd') from orders",
        "select xpath_string('<!DOCTYPE a SYSTEM \"http://127.0.0.1/x\"><a/>', 'a')",
        "select from_xml('<p/>', 'a int', map('rowValidationXSDPath', '/etc/passwd'))",
        "select from_xml('<p/>', 'a int', options => map('rowValidationXSDPath', '/etc/passwd'))",
        "select schema_of_xml('<p/>', map('rowValidationXSDPath', 'http://127.0.0.1/x.xsd'))",
        "select my_function(id) from orders",
        "select transform(id) using 'cat' as (a) from orders",
        "select 'a' 'b'",
        "select \"a''b\"",
        "select :name",
        "select cast('10:11:12' as time)",
        "select at - interval 1 year 2 months from orders",
        "select id from orders; select 1",
        "set x = 1",
        "values (1)",
    ],
)
def test_sql_that_is_ambiguous_or_does_more_than_read_is_refused(sql: str) -> None:
    with pytest.raises(BadInput, match="query: "):
        translate(sql, "spark", {"orders": {}})


@pytest.mark.parametrize("call", ["from_xml({}, 'a string')", "schema_of_xml({})"])
@pytest.mark.parametrize(
    "declaration", ['p SYSTEM "{0}"', 'p [<!ENTITY x SYSTEM "{0}">]', 'p [<!ENTITY % y SYSTEM "{0}"> %y;]']
)
def test_an_xml_document_cannot_reach_a_host(session: SparkSession, call: str, declaration: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        address = f"http://127.0.0.1:{server.getsockname()[1]}/x"
        document = f"<!DOCTYPE {declaration.format(address)}><p><a>&x;</a></p>"
        sql = f"select {call.format(repr(document))} as x from orders"
        session.sql(translate(sql, "spark", {"orders": {}}).sql).collect()
        with pytest.raises(TimeoutError):
            server.accept()


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("select reflect('a', 'b')", "function reflect is not allowed: it runs code, reads files"),
        ("select from_xml(name, 'a int', map()) from orders", "options of from_xml are not allowed"),
        ("select uper(name) from orders", 'unknown function "uper". Did you mean "upper"?'),
        ("select r'x'", "a raw string at line 1, column"),
        ("select 'a' 'b'", "two adjacent strings. Write || between them"),
        ("select cast(name as time) from orders", "cannot be read reliably. Write it differently"),
    ],
)
def test_a_refusal_says_what_is_wrong_and_what_to_write(sql: str, told: str) -> None:
    with pytest.raises(BadInput) as caught:
        translate(sql, "spark", {"orders": {}})
    assert told in str(caught.value)
