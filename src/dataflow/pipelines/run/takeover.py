"""Tables of a database that change hands from one status store to another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dataflow.errors import BadInput
from dataflow.model.records import PYTHON
from dataflow.pipelines.register.published_tables import get_store_id
from dataflow.pipelines.run.targets import find_newest_run

if TYPE_CHECKING:
    from dataflow.pipelines.declare.catalog import Definition
    from dataflow.pipelines.register.settings import PipelineSettings
    from dataflow.store.store import Store


def take_tables_over(store: Store, definition: Definition, settings: PipelineSettings) -> int:
    """Makes a pipeline's tables this store's; how many dataids were another's. BadInput in the lake."""
    setting = settings.get_connection(definition.target)
    if definition.kind == PYTHON or setting.is_lake:
        raise BadInput(
            f"{definition.job} writes to the lake ({definition.target}), where each store has its own files: "
            f"there is nothing to take over. Run it: dataflow run {definition.job}"
        )
    from dataflow.pipelines.postgres.ledger import take_over
    from dataflow.pipelines.postgres.transactions import transaction  # only databases need its driver
    from dataflow.pipelines.register.databases import connect_to

    with transaction(connect_to(setting)) as session:
        ids = get_store_id(store), find_newest_run(store)
        return take_over(session, definition.schema, definition.dataset, *ids)
