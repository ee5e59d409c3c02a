"""Types and constraints of a mapping, as strings and as PostgreSQL, Arrow and Spark types."""

from __future__ import annotations

import pickle
import re

import pyarrow as pa
import pytest

from dataflow.errors import BadInput
from dataflow.pipelines.shape.sql_types import ColumnType, Definition, parse_definition, parse_sql_type

FORMS = [
    ("character varying(100)", "character varying(100)", pa.string(), "string"),
    ("VARCHAR ( 7 )", "character varying(7)", pa.string(), "string"),
    ("varchar", "character varying", pa.string(), "string"),
    ("char(3)", "character(3)", pa.string(), "string"),
    ("character", "character(1)", pa.string(), "string"),
    ("bpchar", "character", pa.string(), "string"),
    ("text", "text", pa.string(), "string"),
    ("uuid", "uuid", pa.string(), "string"),
    ("smallint", "smallint", pa.int16(), "smallint"),
    ("int", "integer", pa.int32(), "int"),
    ("INTEGER", "integer", pa.int32(), "int"),
    ("int8", "bigint", pa.int64(), "bigint"),
    ("numeric(12,2)", "numeric(12,2)", pa.decimal128(12, 2), "decimal(12,2)"),
    ("decimal(38, 0)", "numeric(38,0)", pa.decimal128(38, 0), "decimal(38,0)"),
    ("numeric(9)", "numeric(9,0)", pa.decimal128(9, 0), "decimal(9,0)"),
    ("numeric", "numeric", pa.decimal128(38, 18), "decimal(38,18)"),
    ("boolean", "boolean", pa.bool_(), "boolean"),
    ("date", "date", pa.date32(), "date"),
    ("timestamp with time zone", "timestamp with time zone", pa.timestamp("us", "UTC"), "timestamp"),
    ("timestamptz", "timestamp with time zone", pa.timestamp("us", "UTC"), "timestamp"),
    ("timestamp", "timestamp without time zone", pa.timestamp("us"), "timestamp_ntz"),
    ("double  precision", "double precision", pa.float64(), "double"),
    ("float(24)", "real", pa.float32(), "float"),
    ("float(25)", "double precision", pa.float64(), "double"),
    ("float", "double precision", pa.float64(), "double"),
    ("real", "real", pa.float32(), "float"),
    ("json", "json", pa.string(), "string"),
    ("jsonb", "jsonb", pa.string(), "string"),
    ("text []", "text[]", pa.list_(pa.string()), "array<string>"),
    ("text[]", "text[]", pa.list_(pa.string()), "array<string>"),
    ("integer[3]", "integer[]", pa.list_(pa.int32()), "array<int>"),
    ("numeric(5,1) array", "numeric(5,1)[]", pa.list_(pa.decimal128(5, 1)), "array<decimal(5,1)>"),
]


@pytest.mark.parametrize(("text", "sql", "arrow", "spark"), FORMS)
def test_a_type_has_its_postgresql_arrow_and_spark_form(
    text: str, sql: str, arrow: pa.DataType, spark: str
) -> None:
    found = parse_sql_type(text)
    assert (found.sql, found.arrow, found.spark) == (sql, arrow, spark)
    assert parse_sql_type(found.sql) == found or found.name == "character"
    assert pickle.loads(pickle.dumps(found)) == found


def test_a_uuid_is_sixteen_bytes_for_copy_also_in_arrays() -> None:
    assert parse_sql_type("uuid").arrow_type(uuid_as_bytes=True) == pa.binary(16)
    assert parse_sql_type("uuid[]").arrow_type(uuid_as_bytes=True) == pa.list_(pa.binary(16))
    assert parse_sql_type("text").arrow_type(uuid_as_bytes=True) == pa.string()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("text", Definition(ColumnType("text"))),
        ("text NULL", Definition(ColumnType("text"))),
        ("text not null", Definition(ColumnType("text"), not_null=True)),
        ("text NOT NULL UNIQUE", Definition(ColumnType("text"), not_null=True, unique=True)),
        ("text UNIQUE", Definition(ColumnType("text"), unique=True)),
        ("uuid PRIMARY KEY", Definition(ColumnType("uuid"), not_null=True, primary_key=True)),
        ("uuid\nPRIMARY   KEY NOT NULL", Definition(ColumnType("uuid"), not_null=True, primary_key=True)),
    ],
)
def test_constraints_are_parsed_after_the_type(text: str, expected: Definition) -> None:
    assert parse_definition(text) == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is malformed"),
        ("varchar(1 2)", "is malformed"),
        ("varchar(3", "is malformed"),
        ("txt", 'Did you mean "text"'),
        ("money", "Supported: character varying"),
        ("time", "not supported"),
        ("serial", "not supported"),
        ("text DEFAULT 5", '"DEFAULT" is not supported'),
        ("text CHECK (x)", '"CHECK" is not supported'),
        ("text REFERENCES other(id)", '"REFERENCES" is not supported'),
        ("text NOT", '"NOT" is not supported'),
        ("text PRIMARY", '"PRIMARY" is not supported'),
        ("text NULL NOT NULL", "both NULL and NOT NULL"),
        ("text NULL PRIMARY KEY", "both NULL and NOT NULL"),
        ("json UNIQUE", "use jsonb"),
        ("text; drop table x", "is not part of a type"),
        ("text -- x", "is not part of a type"),
        ("text DEFAULT 'x'", "is not part of a type"),
        ('"text"', "is not part of a type"),
        ("text[][]", "one-dimensional"),
        ("text[", "one-dimensional"),
        ("jsonb[]", "use jsonb"),
        ("numeric(39,2)", "1 <= p <= 38"),
        ("numeric(5,6)", "s <= p"),
        ("numeric(0)", "1 <= p <= 38"),
        ("numeric(1,2,3)", "is malformed"),
        ("numeric 5", "is malformed"),
        ("varchar(0)", "from 1 to"),
        ("varchar(10485761)", "from 1 to"),
        ("varchar(1,2)", "from 1 to"),
        ("integer(4)", "does not take a number"),
        ("timestamp(3) with time zone", "does not take a number"),
        ("float(54)", "does not take a number"),
        ("varchar()", "is malformed"),
        ("text ]", "is malformed"),
        ("array", "is malformed"),
    ],
)
def test_an_unsupported_type_is_refused_with_the_supported_ones(text: str, said: str) -> None:
    with pytest.raises(BadInput, match=re.escape(said)):
        parse_definition(text)
