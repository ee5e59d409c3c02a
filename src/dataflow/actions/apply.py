"""Apply: register what files declare; export writes such a file. Nothing is removed."""

from __future__ import annotations

from dataflow.actions.dataset_rules import is_automatic
from dataflow.actions.register import register
from dataflow.actions.registry_draft import Registry
from dataflow.config.declarations import write_declarations
from dataflow.model.record import replace
from dataflow.model.url_text import masked_host, masked_pairs, without_secrets

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.actions.differences import Change
    from dataflow.actions.registry_draft import Draft
    from dataflow.config.declarations import Declarations
    from dataflow.model.records import Dataset
    from dataflow.store.store import Store

    Pairs = tuple[tuple[str, str], ...]


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
    datasets = [_masked(dataset) for dataset in datasets]
    if not with_secrets:
        datasets = [replace(dataset, encryptedpass="") for dataset in datasets]
    jobs = [plan.job for plan in store.read.list_plans()]
    jobs = [replace(job, environment=masked_pairs(job.environment)) for job in jobs]
    return write_declarations(datasets, jobs)


def _masked(dataset: Dataset) -> Dataset:
    return replace(
        dataset,
        hostname=masked_host(dataset.hostname),
        location=without_secrets(dataset.location),
        options=masked_pairs(dataset.options),
    )


def _draft(registry: Registry, declarations: Declarations) -> Draft:
    registry.load(declarations.datasets, declarations.jobs)
    datasets = [_with_kept(dataset, registry.datasets.get(dataset.name)) for dataset in declarations.datasets]
    jobs = []
    for job in declarations.jobs:
        known = registry.find_job(job.name)
        kept = _kept_pairs(job.environment, known.environment if known else ())
        jobs.append(replace(job, environment=kept))
    return registry.draft(datasets, jobs)


def _with_kept(dataset: Dataset, known: Dataset | None) -> Dataset:
    """Keep the secrets of a registered dataset if the file omits or masks them, as export does."""
    if known is None:
        return dataset
    masked = _masked(known)
    return replace(
        dataset,
        hostname=known.hostname if dataset.hostname == masked.hostname else dataset.hostname,
        location=known.location if dataset.location == masked.location else dataset.location,
        options=_kept_pairs(dataset.options, known.options),
        encryptedpass=dataset.encryptedpass or known.encryptedpass,
    )


def _kept_pairs(pairs: Pairs, known: Pairs) -> Pairs:
    """Return options or variables with the known secret in place of each mask."""
    secrets = dict(zip(masked_pairs(known), known, strict=True))
    return tuple([secrets.get(pair, pair) for pair in pairs])
