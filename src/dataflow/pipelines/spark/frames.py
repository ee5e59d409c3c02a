"""Frames over the files of the lake, SQL over frames, and passes that checks need."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from dataflow.errors import BadInput
from dataflow.pipelines.lake.manifest import Frame
from dataflow.pipelines.shape.sql_types import parse_sql_type
from dataflow.pipelines.sql.translation import Translated, translate

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from dataflow.pipelines.shape.checks import Check

SHOWN = 3
ROWS = "staged_rows"


def open_frame(session: SparkSession, frame: Frame) -> DataFrame:
    """The rows of these files, in the declared columns."""
    schema = ", ".join(f"{quoted(name)} {parse_sql_type(kind).spark}" for name, kind in frame.columns)
    if not frame.files:
        return session.createDataFrame([], schema)
    return session.read.schema(schema).parquet(*frame.files)


def run_sql(session: SparkSession, translated: Translated, frames: Mapping[str, Frame]) -> DataFrame:
    """The rows of translated SQL over these frames, each under its dataset's name."""
    for name in translated.tables:
        open_frame(session, frames[name]).createOrReplaceTempView(quoted(name))
    for function in translated.functions:
        session.udf.register(function.name, function.call, function.returns)
    return session.sql(translated.sql)


def as_columns(rows: DataFrame, columns: tuple[tuple[str, str], ...]) -> DataFrame:
    """The rows with each column in its declared type, by position: names may differ in case alone."""
    from pyspark.sql import functions as F

    named = rows.toDF(*[f"c{number}" for number in range(len(columns))])
    return named.select(
        *[
            F.col(f"c{number}").cast(parse_sql_type(kind).spark).alias(name)
            for number, (name, kind) in enumerate(columns)
        ]
    )


POSTGRES_TYPES = {
    "string": "text",
    "boolean": "boolean",
    "tinyint": "smallint",
    "smallint": "smallint",
    "int": "integer",
    "bigint": "bigint",
    "float": "real",
    "double": "double precision",
    "date": "date",
    "timestamp": "timestamp with time zone",
    "timestamp_ntz": "timestamp without time zone",
}


def column_types(rows: DataFrame) -> tuple[tuple[str, str], ...]:
    """The columns of a frame with the PostgreSQL types that hold them; BadInput for one that none does."""
    found = []
    for field in rows.schema.fields:
        kind = field.dataType.simpleString()
        element = kind.removeprefix("array<").removesuffix(">")
        plain = POSTGRES_TYPES.get(element) or (
            element.replace("decimal", "numeric") if "decimal" in element else ""
        )
        if not plain:
            raise BadInput(
                f"Column {field.name} is of Spark type {kind}, which cannot be published. Cast it."
            )
        found.append((field.name, plain if element == kind else f"{plain}[]"))
    return tuple(found)


def count_bad_rows(session: SparkSession, check: Check, frame: Frame) -> tuple[int, list[str]]:
    """How many rows a check of uniqueness or by SQL refuses, with a few of them to show."""
    from pyspark.sql import functions as F

    if check.kind == "unique":
        names = [quoted(name) for name in check.values]
        groups = (
            open_frame(session, frame)
            .dropna(subset=list(check.values))
            .groupBy(*names)
            .count()
            .filter("count > 1")
        )
        found = groups.agg(F.sum("count")).collect()[0][0] or 0
        shown = groups.limit(SHOWN).collect() if found else []
        return int(found), [", ".join(str(value) for value in row[:-1]) for row in shown]
    child = session.newSession()
    sql = f"select * from {ROWS} where not ({check.values[0]})"
    refused = run_sql(
        child, translate(sql, "postgres", {ROWS: dict(frame.columns)}, str(check)), {ROWS: frame}
    )
    shown = refused.limit(SHOWN).collect()
    return (refused.count() if shown else 0), [str(row.asDict()) for row in shown]


def quoted(name: str) -> str:
    """A name as Spark SQL takes any of them."""
    return "`" + name.replace("`", "``") + "`"
