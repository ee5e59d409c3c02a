"""Random queries return the same columns, types and rows in PostgreSQL and Spark."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.pipelines.sql.fuzz.fuzzing import judge, list_queries, make_both

SEED, COUNT = 1, 300
LEAST_COMPARED = 0.9


@pytest.mark.timeout(900)  # hundreds of queries, each on two databases, perhaps on a busy machine
def test_random_queries_return_the_same_result_as_postgres(
    postgres_url: str, spark: SparkSession, tmp_path: Path
) -> None:
    with closing(make_both(postgres_url, spark, tmp_path)) as both:
        verdicts = [judge(both, query) for query in list_queries(SEED, COUNT)]
    different = [str(verdict) for verdict in verdicts if verdict.word == "different"]
    assert not different, "\n".join([f"{len(different)} of {COUNT} queries differ:", *different])
    counts = Counter(verdict.word for verdict in verdicts)
    passed_over = "\n".join(str(verdict) for verdict in verdicts if verdict.word != "same")
    assert counts["same"] >= LEAST_COMPARED * COUNT, f"too few were compared: {dict(counts)}\n{passed_over}"
