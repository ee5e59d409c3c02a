"""The child process that loads a project's pipelines and answers one question about them as JSON.

Pipeline files are a project's own code: one that hangs, prints or ends the process must not harm the server.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from dataflow.actions.descriptions import describe_lineage
from dataflow.actions.lineage import BOTH
from dataflow.actions.passwords import open_store_password
from dataflow.config.packages import installed_packages
from dataflow.config.settings import Config, load_config
from dataflow.errors import DataFlowError
from dataflow.model.record import record, replace
from dataflow.runjob.lock import is_claimant_name, is_dead
from dataflow.secrets.passphrase import get_passphrase

with installed_packages("Pipelines"):
    from dataflow.pipelines.declare.catalog import Catalog
    from dataflow.pipelines.declare.settings import PipelineSettings
    from dataflow.pipelines.run.facilities import Facilities
    from dataflow.pipelines.show.columns import trace_columns
    from dataflow.pipelines.show.description import describe, list_briefly
    from dataflow.pipelines.show.plan import Scene, describe_outlook, look_ahead
    from dataflow.pipelines.show.statements import describe_interval
    from dataflow.service.pipeline_process import SilentProgress
    from dataflow.store.opener import open_store, refuse_missing


@record
class Loaded:
    """The project's pipelines as their files are now, and what one asks about them."""

    config: Config
    catalog: Catalog
    settings: PipelineSettings
    name: str
    dataid: str | None

    @property
    def passphrase(self) -> str:
        """The passphrase of the project's secrets; nobody is asked for it."""
        return get_passphrase(self.config.passkey, self.config.passkey_file, None)


def list_pipelines(loaded: Loaded) -> Any:
    problems = loaded.settings.secrets.redact_all(list(loaded.catalog.problems))
    return {"pipelines": list_briefly(loaded.catalog, loaded.settings), "problems": problems}


def show_pipeline(loaded: Loaded) -> Any:
    found = describe(loaded.catalog.get(loaded.name), loaded.settings)
    return loaded.settings.secrets.redact_all(found)


def plan_pipeline(loaded: Loaded) -> Any:
    config, settings, catalog = loaded.config, loaded.settings, loaded.catalog
    definition = catalog.get(loaded.name)
    refuse_missing(config.store_url)
    password = open_store_password(config, lambda: loaded.passphrase)
    settings.secrets.add(password)
    store = open_store(config.store_url, config.actor, config.store_schema, password)

    def is_gone(claimant: str) -> bool:
        return is_claimant_name(claimant) and is_dead(config.lock_dir, claimant)

    outlook = look_ahead(store, definition, Scene(catalog, settings, config, is_gone), loaded.dataid)
    facilities = Facilities(config, store, settings, catalog.constants, SilentProgress())
    detail = describe_interval(outlook.plan, facilities) if outlook.plan else None
    return describe_outlook(definition, outlook, settings.secrets.redact_all(detail))


def show_columns(loaded: Loaded) -> Any:
    return describe_lineage(trace_columns(loaded.catalog, loaded.name, BOTH, 0))


def show_whole(loaded: Loaded) -> Any:
    """All that is known of a pipeline; `problems` says which part cannot be shown, and why."""
    found: dict[str, Any] = {"definition": show_pipeline(loaded), "plan": None, "columns": None}
    problems = []
    parts: dict[str, Callable[[], Any]] = {
        "plan": lambda: plan_pipeline(loaded),
        "columns": lambda: show_columns(replace(loaded, name=found["definition"]["dataset"])),
    }
    for part, show in parts.items():
        try:
            found[part] = show()
        except DataFlowError as error:
            problems.append(str(error))
    return found | {"problems": loaded.settings.secrets.redact_all(problems)}


QUESTIONS: dict[str, Callable[[Loaded], Any]] = {
    "list": list_pipelines,
    "show": show_pipeline,
    "plan": plan_pipeline,
    "columns": show_columns,
    "whole": show_whole,
}


def answer(asked: dict[str, Any]) -> Any:
    """Return the answer to a question; errors are without secrets."""
    config = replace(load_config(asked["project_dir"], os.environ, None), **asked["store"])
    settings = PipelineSettings(
        config.project_dir,
        os.environ,
        lambda: get_passphrase(config.passkey, config.passkey_file, None),
    )
    with settings.secrets.hidden_in_errors():
        catalog = Catalog(config.project_dir, os.environ)
        return QUESTIONS[asked["question"]](Loaded(config, catalog, settings, asked["name"], asked["dataid"]))


def main() -> None:
    """Answer the question on the standard input; what the files print goes nowhere."""
    asked = json.load(sys.stdin)
    signal.alarm(asked["limit_seconds"])  # ends a child whose server is gone
    with os.fdopen(os.dup(1), "w") as out:
        os.dup2(2, 1)
        try:
            found = {"answer": answer(asked)}
        except DataFlowError as error:
            found = {"error": type(error).__name__, "message": str(error)}
        json.dump(found, out, ensure_ascii=False, default=str)


if __name__ == "__main__":
    main()
