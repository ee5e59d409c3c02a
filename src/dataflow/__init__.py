"""DataFlow hands partitioned data from one batch job to the next the way a database commits a transaction.

import dataflow

with dataflow.open() as flow:
    flow.make_ready("bobin", ["1.0"])
    with flow.claim("loadbob") as run:
        print(run.dataid if run else flow.why("loadbob").verdict)
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.client import ClaimedRun, Flow, open
    from dataflow.errors import (
        BadInput,
        ConfigError,
        Conflict,
        DataFlowError,
        InvalidData,
        LeaseLost,
        SecretError,
        StoreError,
        UnknownName,
    )
    from dataflow.model.answers import Answer, Why
    from dataflow.pipelines.declare.bases import job
    from dataflow.pipelines.run.job_run import JobRun
    from dataflow.pipelines.run.script_run import spark_run

_HOMES = {
    "ClaimedRun": "dataflow.client",
    "Flow": "dataflow.client",
    "open": "dataflow.client",
    "JobRun": "dataflow.pipelines.run.job_run",
    "job": "dataflow.pipelines.declare.bases",
    "spark_run": "dataflow.pipelines.run.script_run",
    "Answer": "dataflow.model.answers",
    "Why": "dataflow.model.answers",
}

__all__ = [
    "Answer",
    "BadInput",
    "ClaimedRun",
    "ConfigError",
    "Conflict",
    "DataFlowError",
    "Flow",
    "InvalidData",
    "JobRun",
    "LeaseLost",
    "SecretError",
    "StoreError",
    "UnknownName",
    "Why",
    "job",
    "open",
    "spark_run",
]


def __getattr__(name: str) -> object:
    """Load a public name on first use: RunJob imports this package and needs none of them."""
    if name not in __all__:
        raise AttributeError(f"module 'dataflow' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_HOMES.get(name, "dataflow.errors")), name)
    globals()[name] = value
    return value
