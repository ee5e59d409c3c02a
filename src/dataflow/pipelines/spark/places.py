"""Rows at the places that datasets have: a version of the lake, or a plain Parquet file or folder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dataflow.model.location import Location
from dataflow.pipelines.lake.manifest import read_frame
from dataflow.pipelines.spark.frames import open_frame

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def is_frame(value: Any) -> bool:
    """True for a Spark DataFrame, classic or of Spark Connect."""
    from pyspark.sql import DataFrame

    return isinstance(value, DataFrame)


def open_place(session: SparkSession, location: str) -> DataFrame:
    """The rows of the files that a manifest lists, or of a Parquet file or folder, here or anywhere."""
    if Location(location).is_manifest:
        return open_frame(session, read_frame(location))
    return session.read.parquet(location)


def write_away(frame: DataFrame, location: str) -> None:
    """Writes a Parquet folder that is not on this machine, with Spark's own writer."""
    frame.write.mode("overwrite").parquet(location)
