"""Apply: register what files declare; export writes such a file. Nothing is removed."""

from __future__ import annotations

from dataflow.actions.dataset_rules import is_automatic
from dataflow.actions.register import register
from dataflow.actions.registry_draft import Registry
from dataflow.config.declarations import write_declarations
from dataflow.model.record import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.actions.differences import Change
    from dataflow.actions.registry_draft import Draft
    from dataflow.config.declarations import Declarations
    from dataflow.store.store import Store


def plan_changes(store: Store, declarations: Declarations) -> list[Change]:
    """Return what applying would add and change, with the checks of applying; nothing is written."""
    return store.database.read(lambda tx: _draft(Registry(tx), declarations).changes)


def plan_first_changes(declarations: Declarations) -> list[Change]:
    """Return what applying to a new store would add; a refusal leaves no store behind."""
    from dataflow.store.opener import open_store  # start-up: only a new project needs it
    from dataflow.store.sqlite_file import MEMORY

    store = open_store(f"sqlite:///{MEMORY}", "")
    try:
        return plan_changes(store, declarations)
    finally:
        store.close()


def apply_changes(store: Store, declarations: Declarations) -> list[Change]:
    """Register everything that is declared, or nothing if any of it is invalid."""
    return register(store, lambda registry: _draft(registry, declarations))


def export_declarations(store: Store, with_secrets: bool = False) -> str:
    """Return all datasets and jobs as TOML; encrypted passwords only `with_secrets`."""
    datasets = [dataset for dataset in store.read.list_datasets() if not is_automatic(dataset.name)]
    if not with_secrets:
        datasets = [replace(dataset, encryptedpass="") for dataset in datasets]
    return write_declarations(datasets, [plan.job for plan in store.read.list_plans()])


def _draft(registry: Registry, declarations: Declarations) -> Draft:
    registry.load(declarations.datasets, declarations.jobs)
    datasets = []
    for dataset in declarations.datasets:
        known = registry.datasets.get(dataset.name)
        # A file without the password, as export writes it, must not remove the password.
        kept = known.encryptedpass if known is not None else ""
        datasets.append(replace(dataset, encryptedpass=dataset.encryptedpass or kept))
    return registry.draft(datasets, declarations.jobs)
