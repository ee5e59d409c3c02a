"""Work sent to Spark's tasks: each is one call, and only results of accepted attempts come back."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from dataflow.errors import BadInput, DataFlowError, InvalidData, Superseded, TargetDenied, TargetUnreachable
from dataflow.model.record import record

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    Task = Callable[[str], Any]
    """Called with the attempt's own name; the result must pickle."""

RESULT = "result binary"
RETURNED = (BadInput, InvalidData, Superseded, TargetUnreachable, TargetDenied)


@record
class Refusal:
    """An error that an immediate retry would not fix: it is returned as a result, as raised."""

    error: DataFlowError


def tag_of(run_id: int) -> str:
    """The tag of a run's Spark jobs."""
    return f"run-{run_id}"


def run_tasks(session: SparkSession, tasks: Sequence[Task], tag: str) -> list[Any]:
    """Run each task on some executor; returns their results in no particular order."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for index in batch.column(0).to_pylist():
                yield _packed(partial(tasks[index], attempt_name()))

    numbers = session.range(0, len(tasks), 1, len(tasks))
    return collect(session, numbers.mapInArrow(work, RESULT), tag)


def run_over(
    session: SparkSession, frame: DataFrame, task: Callable[[Iterator[pa.RecordBatch], str], Any], tag: str
) -> list[Any]:
    """Pass each partition of a frame, as Arrow batches, to one call of the task; returns their results."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield _packed(partial(task, batches, attempt_name()))

    return collect(session, frame.mapInArrow(work, RESULT), tag)


def collect(session: SparkSession, frame: DataFrame, tag: str) -> list[Any]:
    """Results of the accepted attempts; Spark's UI and event log show `tag`, the run's, with the job."""
    session.addTag(tag)  # of this thread and session; neither runs jobs of another run
    results = [pickle.loads(row.result) for row in frame.collect()]
    for result in results:
        if isinstance(result, Refusal):
            raise result.error
    return results


def attempt_name() -> str:
    """The name of the current task attempt: unique within the application."""
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    return f"{context.partitionId():05}-{context.taskAttemptId()}"


def _packed(call: Callable[[], Any]) -> pa.RecordBatch:
    import pyarrow as pa

    try:
        result = call()
    except RETURNED as error:
        result = Refusal(error)
    return pa.record_batch([pa.array([pickle.dumps(result)], pa.binary())], names=["result"])
