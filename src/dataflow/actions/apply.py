"""Apply: register what files declare; export writes such a file. Nothing is removed."""

from __future__ import annotations

from dataflow.actions.dataset_rules import is_automatic
from dataflow.actions.register import register
from dataflow.actions.registry_draft import Registry
from dataflow.config.declarations import write_declarations
from dataflow.model.record import replace
from dataflow.model.url_text import without_secrets

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.actions.differences import Change
    from dataflow.actions.registry_draft import Draft
    from dataflow.config.declarations import Declarations
    from dataflow.model.records import Dataset
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
    datasets = [replace(dataset, location=without_secrets(dataset.location)) for dataset in datasets]
    if not with_secrets:
        datasets = [replace(dataset, encryptedpass="") for dataset in datasets]
    return write_declarations(datasets, [plan.job for plan in store.read.list_plans()])


def _draft(registry: Registry, declarations: Declarations) -> Draft:
    registry.load(declarations.datasets, declarations.jobs)
    datasets = [_with_kept(dataset, registry.datasets.get(dataset.name)) for dataset in declarations.datasets]
    return registry.draft(datasets, declarations.jobs)


def _with_kept(dataset: Dataset, known: Dataset | None) -> Dataset:
    """Keep the secrets of a registered dataset if the file omits or masks them, as export does."""
    if known is None:
        return dataset
    is_masked = dataset.location == without_secrets(known.location)
    location = known.location if is_masked else dataset.location
    return replace(dataset, location=location, encryptedpass=dataset.encryptedpass or known.encryptedpass)
