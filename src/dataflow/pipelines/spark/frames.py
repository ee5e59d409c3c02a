"""Frames over the files of the lake, SQL over frames, and the passes that checks need."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dataflow.errors import BadInput
from dataflow.model.location import Location
from dataflow.pipelines.lake.manifest import DATAID, Frame, Whole, put_together, read_frame
from dataflow.pipelines.shape.sql_types import parse_sql_type
from dataflow.pipelines.sql.translation import Translated, translate

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType

    from dataflow.pipelines.shape.checks import Check
    from dataflow.pipelines.sql.calls import Function

SHOWN = 3
ROWS = "dataflow_staged_rows"
RESULT = "dataflow_result"
# The chunk of each row, from the folder of its file. Decoded twice: Spark returns the path as a URL, and the
# folder's name is itself percent-encoded.
DATAID_OF_FILE = (
    "url_decode(url_decode(regexp_extract(_metadata.file_path, '/dataid=([^/]*)/[^/]*/[^/]*$', 1)))"
)


def open_frame(session: SparkSession, frame: Frame) -> DataFrame:
    """The rows of these files, in the declared columns."""
    schema = ", ".join(f"{quoted(name)} {parse_sql_type(kind).spark}" for name, kind in frame.columns)
    if not frame.files:
        return session.createDataFrame([], schema)
    return session.read.schema(schema).parquet(*frame.files)


def open_whole(session: SparkSession, whole: Whole) -> DataFrame:
    """The rows of all chunks of a dataset, each with its chunk."""
    found: DataFrame | None = None
    for part in whole.parts:
        own = {name.lower(): quoted(name) for name, _ in part.columns}
        own.setdefault(DATAID, DATAID_OF_FILE if part.files else "''")
        columns = [
            f"cast({own.get(name.lower(), 'null')} as {parse_sql_type(kind).spark}) as {quoted(name)}"
            for name, kind in whole.columns
        ]
        rows = open_frame(session, part).selectExpr(*columns)
        found = rows if found is None else found.union(rows)
    return session.createDataFrame([], f"{DATAID} string") if found is None else found


def run_sql(session: SparkSession, translated: Translated, frames: Mapping[str, Frame | Whole]) -> DataFrame:
    """The rows of translated SQL over these frames, each named after its dataset."""
    for name in translated.tables:
        frame = frames[name]
        rows = open_frame(session, frame) if isinstance(frame, Frame) else open_whole(session, frame)
        rows.createOrReplaceTempView(quoted(name))
    for function in translated.functions:
        register(session, function)
    return session.sql(translated.sql)


def register(session: SparkSession, function: Function) -> None:
    """Register one of our functions with a session."""
    from pyspark.sql import functions as F

    # Arrow moves values to Python and back in half the time of pickle.
    call = F.udf(function.call, function.returns, useArrow=True)
    session.udf.register(function.name, call)


def as_columns(rows: DataFrame, columns: tuple[tuple[str, str], ...]) -> DataFrame:
    """The rows with each column in its declared type, by position, under plain names.

    PySpark looks columns up by name when it passes them to Python, and cannot read back some names.
    """
    places = [f"c{number}" for number in range(len(columns))]
    values = [
        f"cast({place} as {parse_sql_type(kind).spark}) as {place}"
        for place, (_, kind) in zip(places, columns, strict=True)
    ]
    rows.createOrReplaceTempView(RESULT)
    return rows.sparkSession.sql(f"SELECT {', '.join(values)} FROM {RESULT} AS r({', '.join(places)})")


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
    """The columns of a frame with matching PostgreSQL types; BadInput for a column without one."""
    found = []
    for field in rows.schema.fields:
        kind = field.dataType.simpleString()
        element = kind.removeprefix("array<").removesuffix(">")
        decimal = element.replace("decimal", "numeric") if "decimal" in element else ""
        plain = POSTGRES_TYPES.get(element) or decimal
        if not plain:
            raise BadInput(f"Column {field.name} has Spark type {kind}, which cannot be published. Cast it.")
        found.append((field.name, plain if element == kind else f"{plain}[]"))
    return tuple(found)


def count_bad_rows(session: SparkSession, check: Check, frame: Frame) -> tuple[int, list[str]]:
    """Count the rows that violate a uniqueness or SQL check, with a few samples."""
    if check.kind == "unique":
        names = [quoted(name) for name in check.values]
        keyed = open_frame(session, frame).dropna(subset=list(check.values))
        groups = keyed.groupBy(*names).count().filter("count > 1")
        found = groups.agg({"count": "sum"}).collect()[0][0] or 0
        shown = list_rows(groups.limit(SHOWN)) if found else []
        return int(found), [", ".join(str(value) for value in row[:-1]) for row in shown]
    sql = f"select * from {ROWS} where not ({check.values[0]})"
    translated = translate(sql, "postgres", {ROWS: dict(frame.columns)}, str(check))
    try:
        # In this very session: cancelling the run interrupts this one.
        refused = run_sql(session, translated, {ROWS: frame})
        samples = [dict(zip(refused.columns, row, strict=True)) for row in list_rows(refused.limit(SHOWN))]
        texts = [json.dumps(row, ensure_ascii=False, default=str) for row in samples]
        return (refused.count() if samples else 0), texts
    finally:
        session.catalog.dropTempView(ROWS)


def list_rows(rows: DataFrame) -> list[tuple[Any, ...]]:
    """All rows, by position; through Arrow, since `collect` returns times in the machine's time zone."""
    columns = [column.to_pylist() for column in rows.toArrow().columns]
    return list(zip(*columns, strict=True))


def fill_types(rows: DataFrame) -> DataFrame:
    """The rows with text where Spark knows no type, as for `null` and `array()`, under plain names.

    Arrow has no type for such a value in an array or a map.
    """
    from pyspark.sql import functions as F

    plain = rows.toDF(*[f"c{number}" for number, _ in enumerate(rows.columns)])
    return plain.select(*[F.col(field.name).cast(_filled(field.dataType)) for field in plain.schema.fields])


def _filled(kind: DataType) -> DataType:
    from pyspark.sql import types as T

    match kind:
        case T.NullType():
            return T.StringType()
        case T.ArrayType():
            return T.ArrayType(_filled(kind.elementType), kind.containsNull)
        case T.MapType():
            return T.MapType(_filled(kind.keyType), _filled(kind.valueType), kind.valueContainsNull)
        case T.StructType():
            fields = [T.StructField(each.name, _filled(each.dataType), each.nullable) for each in kind.fields]
            return T.StructType(fields)
    return kind


def quoted(name: str) -> str:
    """A quoted name, valid in Spark SQL whatever it contains."""
    return "`" + name.replace("`", "``") + "`"


def is_frame(value: Any) -> bool:
    """True for a Spark DataFrame, classic or Spark Connect."""
    from pyspark.sql import DataFrame

    return isinstance(value, DataFrame)


def open_places(session: SparkSession, locations: Sequence[str]) -> DataFrame:
    """The rows of chunks in the lake, oldest first, as one frame; each row has its chunk in `dataid`."""
    return open_whole(session, put_together(map(read_frame, reversed(locations))))


def open_place(session: SparkSession, location: str) -> DataFrame:
    """The rows of the files that a manifest lists, or of a Parquet file or folder, local or remote."""
    if Location(location).is_manifest:
        return open_frame(session, read_frame(location))
    return session.read.parquet(location)
