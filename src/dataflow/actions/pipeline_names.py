"""Names of the project's pipelines, found by reading their files: no code of the project runs."""

from __future__ import annotations

import ast
import glob
import os
from contextlib import suppress

from dataflow.actions.next_commands import shell

FOLDER = "pipelines"
CLASS_WORDS = ("DatasetPipeline", "ViewPipeline")


def find_hint(project_dir: str, name: str) -> str:
    """Return what to do with a pipeline that is not registered yet; "" if no file defines the name."""
    if not name.isidentifier() or name in CLASS_WORDS or not _is_defined(project_dir, name):
        return ""
    plan, run = shell("dataflow", "pipeline", "plan", name), shell("dataflow", "run", name)
    return f"{name} is a pipeline that has not run yet; see: {plan}, or: {run}"


def list_texts(project_dir: str) -> list[str]:
    """Return the texts of the files that define the project's pipelines."""
    texts = []
    for path in glob.glob(os.path.join(glob.escape(project_dir), FOLDER, "*.py")):
        with suppress(OSError), open(path, encoding="utf-8", errors="replace") as file:
            texts.append(file.read())
    return texts


def _is_defined(project_dir: str, name: str) -> bool:
    """Return whether a file has a pipeline class or a decorated function of that name."""
    for text in list_texts(project_dir):
        try:
            statements = ast.parse(text).body
        except (ValueError, SyntaxError):
            continue  # `dataflow pipeline list` reports it
        for item in statements:
            if isinstance(item, ast.ClassDef) and item.name == name:
                return any(word in name for word in CLASS_WORDS)
            if isinstance(item, ast.FunctionDef) and item.name == name:
                return bool(item.decorator_list)
    return False
