"""Work sent to Spark's tasks: each is one call, and only what accepted attempts return comes back."""

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
    """Called with the attempt's own name; what it returns must pickle."""

RESULT = "result binary"
RETURNED = (BadInput, InvalidData, Superseded, TargetUnreachable, TargetDenied)


@record
class Refusal:
    """An error that another attempt at once would not fix: it comes back as a result, as it was raised."""

    error: DataFlowError


def tag_of(run_id: int) -> str:
    """What the Spark jobs of a run are tagged with."""
    return f"run-{run_id}"


def run_tasks(session: SparkSession, tasks: Sequence[Task], tag: str) -> list[Any]:
    """Runs each task on some executor, and gives their results in no particular order."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for index in batch.column(0).to_pylist():
                yield _packed(partial(tasks[index], attempt_name()))

    numbers = session.range(0, len(tasks), 1, len(tasks))
    return collect(session, numbers.mapInArrow(work, RESULT), tag)


def run_over(
    session: SparkSession, frame: DataFrame, task: Callable[[Iterator[pa.RecordBatch], str], Any], tag: str
) -> list[Any]:
    """Gives each partition of a frame, as Arrow batches, to one call of the task, and gives their results."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield _packed(partial(task, batches, attempt_name()))

    return collect(session, frame.mapInArrow(work, RESULT), tag)


def collect(session: SparkSession, frame: DataFrame, tag: str) -> list[Any]:
    """What the accepted attempts returned; Spark's UI and event log show `tag`, the run's, with the job."""
    session.addTag(tag)  # of this thread and session, which both may have jobs of no other run
    results = [pickle.loads(row.result) for row in frame.collect()]
    for result in results:
        if isinstance(result, Refusal):
            raise result.error
    return results


def attempt_name() -> str:
    """The name of the task attempt this is called in: no other attempt of the application has it."""
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
