"""The floors of the package: who may import whom, and which file alone may import a driver."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

ROOMS = "Floors of pipelines import downward only"
PSYCOPG = "psycopg lives in the store's one file and in the PostgreSQL target"

# One offence against each contract of pyproject.toml: the contract, the offending module, what it says.
OFFENCES = [
    ("Floors import downward only", "model/offence.py", "import dataflow.store"),
    ("Floors import downward only", "on_no_floor.py", ""),
    (
        "Floors of pipelines import downward only",
        "pipelines/shape/offence.py",
        "import dataflow.pipelines.lake",
    ),
    ("Floors of pipelines import downward only", "pipelines/on_no_floor.py", ""),
    ("apsw lives in one file", "model/offence.py", "import apsw"),
    (PSYCOPG, "store/offence.py", "def connect() -> None:\n    import psycopg"),
    ("cryptography lives in one folder", "store/offence.py", "import cryptography.hazmat"),
    ("PyJWT lives in one file", "access/offence.py", "import jwt"),
    ("croniter lives in one file", "store/offence.py", "from croniter import croniter"),
    ("rich is for the dataflow command", "store/offence.py", "from rich.console import Console"),
    ("The web framework lives in two folders", "cli/offence.py", "import uvicorn"),
    ("Spark lives in one folder", "pipelines/offence.py", "import pyspark.sql"),
    ("HTTP lives in one folder", "pipelines/offence.py", "import httpcore"),
    (
        "SQL dialects live in one folder, templates there and in the page",
        "pipelines/offence.py",
        "import sqlglot",
    ),
]


def lint_imports(source: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports())",
        ],
        cwd=source.parent,
        env=os.environ | {"PYTHONPATH": str(source), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_every_floor_imports_only_floors_below_it() -> None:
    done = lint_imports(ROOT / "src")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(("contract", "module", "text"), OFFENCES, ids=[offence[0] for offence in OFFENCES])
def test_an_offence_against_the_floors_is_noticed(
    tmp_path: Path, contract: str, module: str, text: str
) -> None:
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "src" / "dataflow" / module).write_text(text)
    done = lint_imports(tmp_path / "src")
    assert done.returncode != 0
    assert f"{contract} BROKEN" in done.stdout
