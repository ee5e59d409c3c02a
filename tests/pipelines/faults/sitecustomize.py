"""Imported by every Python of a test cluster's executors: breaks task attempts once their rows are staged.

Each fault named in FAULTS happens once, to whoever comes first, and leaves a file in FAULTS_FOLDER.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import Any


def _take_fault() -> str:
    from pyspark import TaskContext

    context = TaskContext.get()
    is_first = context is not None and context.attemptNumber() == 0
    for name in os.environ["FAULTS"].split(","):
        if name == "slow" and not is_first:
            continue  # a host that has tried a task gets no second attempt of it when Spark speculates
        try:
            os.close(os.open(os.path.join(os.environ["FAULTS_FOLDER"], name), os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            continue
        return name
    return ""


def _parent_of(pid: int) -> int:
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        return int(file.read().rpartition(")")[2].split()[1])


def _suffer(name: str) -> None:
    if name == "kill":
        os.kill(_parent_of(os.getppid()), signal.SIGKILL)  # the executor: its daemon is our parent
        time.sleep(60)
    elif name == "fail":
        raise RuntimeError("this attempt fails after its rows are staged")
    elif name == "slow":
        time.sleep(3600)  # only a second attempt can end it


def _arm() -> None:
    from dataflow.pipelines.run.stage_tasks import StageParts

    stage = StageParts.__call__

    def suffer_after(self: Any, attempt: str) -> Any:
        report = stage(self, attempt)
        _suffer(_take_fault())
        return report

    StageParts.__call__ = suffer_after  # type: ignore[method-assign]


if os.environ.get("FAULTS") and "pyspark.daemon" in " ".join(sys.orig_argv):
    _arm()
