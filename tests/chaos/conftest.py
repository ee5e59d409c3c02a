"""The chaos tests use the projects of the acceptance tests; all of them are marked `chaos`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.acceptance.conftest import flow, postgres_flow, sqlite_flow

__all__ = ["flow", "postgres_flow", "sqlite_flow"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.chaos)
