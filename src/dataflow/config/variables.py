"""Names of settings in dataflow.toml and the environment; unknown ones are refused."""

from __future__ import annotations

import re
from collections.abc import Iterable

from dataflow.config.problems import Problems, suggestion

SETTINGS = {
    "store": "URL of the status store: sqlite:///path or postgresql://user@host:port/database",
    "store_encryptedpass": "the store's password, as `dataflow secret encrypt` prints it",
    "schema": "PostgreSQL schema that holds the status store",
    "environment": "name of this environment (dev, prod), recorded with every run",
    "passkey_file": "file that holds the passphrase, when PASSKEY is not set",
    "log_dir": "folder of the runs' logs",
    "lock_dir": "folder of the locks by which processes on one machine see that another is alive",
}
"""The keys of dataflow.toml beside its [dataset.NAME] and [job.NAME] tables."""

VARIABLES = {
    "DATAFLOW_PROJECT": "the project's folder, instead of the one found upward from the working directory",
    "DATAFLOW_DEBUG": "if not empty, errors include a traceback",
    **{
        f"DATAFLOW_{name.upper()}": meaning
        for name, meaning in SETTINGS.items()
        if name != "store_encryptedpass"  # it belongs to the `store` beside it, not to one from elsewhere
    },
    # Not _HOST and _PORT: Kubernetes sets such variables for a service.
    "DATAFLOW_LISTEN": "address of the server: host:port",
    "DATAFLOW_URL": "URL of the server as people type it",
}
"""The variables that configure DataFlow."""

OWN_VARIABLES = {
    "DATAFLOW_RUN_ID": "given to children: the run id",
    "DATAFLOW_INTERVAL_START": "given to children: when the interval of the dataid begins",
    "DATAFLOW_INTERVAL_END": "given to children: when the interval of the dataid ends",
    "DATAFLOW_CONTEXT": "given to children: path of a JSON file with the run's facts",
    "DATAFLOW_SECRET_NAMES": "given to children: which of their variables are secrets",
    "DATAFLOW_GUARD_TOKEN": "marks the processes of one run",
    "DATAFLOW_FAILPOINT": "tests only: where to stop or die",
    "DATAFLOW_TEST_POSTGRES": "tests only: URL of a PostgreSQL server to use",
}
"""The variables that DataFlow or its tests set for other processes."""

_OWN_PREFIX = "DATAFLOW_CONN_"
# Kubernetes sets such variables in every pod for a service called `dataflow` or `dataflow-…`.
_KUBERNETES = (
    r"DATAFLOW(_\w+)?_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)"
)


def check_variables(names: Iterable[str], problems: Problems) -> None:
    """Note every unknown DATAFLOW_ variable.

    Only capitals count: a dataset called DATAFLOW gives its scripts DATAFLOW_hostname.
    """
    for name in names:
        if not name.startswith("DATAFLOW_") or name in VARIABLES or name in OWN_VARIABLES:
            continue
        if name.upper() == name and not name.startswith(_OWN_PREFIX) and not re.fullmatch(_KUBERNETES, name):
            hint = suggestion(name, VARIABLES)
            problems.add(name, f"unknown setting. {hint} Rename it, or: unset {name}")
