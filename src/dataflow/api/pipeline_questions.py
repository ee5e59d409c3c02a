"""Questions about pipelines, each answered by a child process within a time limit."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from typing import Any

from dataflow import errors
from dataflow.api.project import Project
from dataflow.errors import DataFlowError, TimedOut
from dataflow.model.record import pick

LIMIT_SECONDS = 20
MOST_CHILDREN = 2
"""At a time: loading takes a processor for about a second."""
MODULE = "dataflow.api.pipeline_reader"
STORE_FIELDS = ("store_url", "store_schema", "store_password", "store_password_record", "actor")

_children = threading.Semaphore(MOST_CHILDREN)


def ask(project: Project, question: str, name: str = "", dataid: str | None = None) -> Any:
    """Return the answer to a question; TimedOut if the files cannot be loaded in time."""
    asked = {
        "question": question,
        "name": name,
        "dataid": dataid,
        "project_dir": project.config.project_dir,
        "store": pick(project.config, *STORE_FIELDS),
        "limit_seconds": LIMIT_SECONDS + 5,
    }
    if not _children.acquire(timeout=LIMIT_SECONDS):
        raise TimedOut(
            f"{MOST_CHILDREN} other requests have been loading pipelines for {LIMIT_SECONDS} s. Try again."
        )
    try:
        return _read(_run(project, json.dumps(asked)))
    finally:
        _children.release()


def _run(project: Project, text: str) -> str:
    child = subprocess.Popen(
        [sys.executable, "-m", MODULE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=dict(project.environ),
        text=True,
        encoding="utf-8",
        start_new_session=True,
    )
    try:
        return child.communicate(text, timeout=LIMIT_SECONDS)[0]
    except subprocess.TimeoutExpired:
        raise TimedOut(
            f"Loading the pipelines took more than {LIMIT_SECONDS} s and was stopped. Which file hangs, "
            "shows: dataflow pipeline list"
        ) from None
    finally:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
        for pipe in (child.stdin, child.stdout):
            if pipe is not None:
                pipe.close()


def _read(text: str) -> Any:
    try:
        found = json.loads(text)
    except ValueError:
        raise errors.BadInput(
            "A file in pipelines/ ended the process that loads it. Which one, shows: dataflow pipeline list"
        ) from None
    if "error" in found:
        raise _error(found["error"], found["message"])
    return found["answer"]


def _error(name: str, message: str) -> DataFlowError:
    kind = getattr(errors, name, DataFlowError)
    return kind(message) if issubclass(kind, DataFlowError) else DataFlowError(message)
