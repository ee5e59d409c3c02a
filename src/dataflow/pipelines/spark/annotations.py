"""Spark's types, for the annotations of modules that reach Spark only through this folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    __all__ = ["DataFrame", "SparkSession"]
