"""Runs the pipelines of a project one after the other in one Spark session, as a process of its own.

Prints a line of JSON for each: when it began and ended, by the clock that all processes share.
"""

from __future__ import annotations

import json
import os
import sys
from time import monotonic

from dataflow.cli.progress import PipelineProgress
from dataflow.client import Flow
from dataflow.config.settings import load_config
from dataflow.errors import DataFlowError
from dataflow.pipelines.declare.catalog import Catalog
from dataflow.pipelines.declare.settings import PipelineSettings
from dataflow.pipelines.register.pipeline_jobs import register_pipelines
from dataflow.pipelines.run.facilities import Facilities
from dataflow.pipelines.run.worker import PipelineWorker
from dataflow.store.opener import open_store


def main() -> None:
    """Runs the pipelines named, an interval of each."""
    folder, dataid, *names = sys.argv[1:]
    environ = dict(os.environ)
    config = load_config(folder, {})
    store = open_store(config.store_url, config.actor, config.store_schema)
    catalog = Catalog(folder, environ)
    settings = PipelineSettings(folder, environ, lambda: "")
    register_pipelines(store, catalog.definitions.values(), settings)
    with Flow(config, store) as flow:
        facilities = Facilities(config, store, settings, catalog.constants, PipelineProgress())
        for name in names:
            began = monotonic()
            worker = PipelineWorker(flow, facilities, catalog.get(name), lambda text: None)
            outcome = worker.run(drain=False, dataid=dataid)
            if outcome.done != 1:
                raise outcome.error or DataFlowError(f"bench: {name} had nothing to do.")
            print(json.dumps([began, monotonic()]), flush=True)
        facilities.spark.shared.stop()


if __name__ == "__main__":
    main()
