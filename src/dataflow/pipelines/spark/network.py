"""Who can reach the ports that Spark opens in this process: by default nobody but itself."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

LOOPBACK = "127.0.0.1"
UI_ADDRESS = "SPARK_LOCAL_IP"
"""The variable of Spark that says where its UI listens; no option does."""


def list_network_options(master: str, given: Mapping[str, str]) -> dict[str, str]:
    """What a local master is told beside the options given: to listen on loopback, and to no stranger.

    For `local[…]` Spark itself makes a new secret, which does not leave its process. Elsewhere it is the
    cluster's secret that counts, and addresses that its executors reach.
    """
    options = {
        "spark.driver.host": LOOPBACK,
        "spark.driver.bindAddress": given.get("spark.driver.host", LOOPBACK),
        "spark.authenticate": "true",
    }
    if master.startswith("local-cluster"):
        options["spark.authenticate.secret"] = secrets.token_hex(32)
    return options


@contextmanager
def listening_on_loopback() -> Iterator[None]:
    """Has the UI of a Spark that is started meanwhile listen on loopback, unless the variable is set."""
    if os.environ.get(UI_ADDRESS):
        yield
        return
    os.environ[UI_ADDRESS] = LOOPBACK
    try:
        yield
    finally:
        del os.environ[UI_ADDRESS]
