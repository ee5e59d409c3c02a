"""A pipeline's definition for people and programs: complete, without secrets."""

from __future__ import annotations

from typing import Any

from dataflow.errors import FetchError
from dataflow.model.record import as_dict, pick
from dataflow.model.records import DATASET, PYTHON, VIEW
from dataflow.model.url_text import masked_url
from dataflow.pipelines.declare.catalog import Catalog, Definition
from dataflow.pipelines.declare.definitions import DatasetDefinition, ViewDefinition
from dataflow.pipelines.declare.settings import PipelineSettings
from dataflow.pipelines.declare.sources import Auth, Files, Http, TableSource
from dataflow.pipelines.fetch.address import parse_address
from dataflow.pipelines.fetch.authentication import NOBODY
from dataflow.pipelines.fetch.proxies import parse_proxy
from dataflow.pipelines.register.pipeline_jobs import find_misplaced
from dataflow.pipelines.run.view_trial import find_flaw
from dataflow.pipelines.show.statements import changed_fields, describe_checks, describe_pages

AUTH_PARTS = ("name_variable", "secret_variable", "algorithm_variable")


def describe(definition: Definition, settings: PipelineSettings) -> dict[str, Any]:
    """The definition with defaults filled in; the variables of secrets, but never the secrets."""
    place = settings.get_place(definition.target)
    url = place.url if place.is_lake else masked_url(place.url)
    target = {"connection": place.name, "url": url}
    if not place.is_lake and definition.schema:
        each = "_YYYY_MM_DD" if definition.kind == VIEW else ""
        target["table"] = f"{definition.schema}.{definition.dataset}{each}"
    head = {"pipeline": definition.job, "kind": definition.kind, "dataset": definition.dataset}
    checks = describe_checks(definition.all_checks)
    schedule = as_dict(definition.timing) | {"is_over": definition.timing.is_over}
    own: dict[str, Any] = _OWN[definition.kind](definition)
    return head | own | {"target": target, "schedule": schedule, "checks": checks, "place": definition.place}


def list_briefly(catalog: Catalog, settings: PipelineSettings) -> list[dict[str, Any]]:
    """All pipelines of a project in one line each, without secrets."""
    rows = [_briefly(definition, catalog, settings) for definition in catalog.definitions.values()]
    found: list[dict[str, Any]] = settings.secrets.redact_all(rows)
    return found


def _briefly(definition: Definition, catalog: Catalog, settings: PipelineSettings) -> dict[str, Any]:
    timing, flaw = definition.timing, find_misplaced(catalog.list_needed(definition), settings)
    if not flaw and definition.kind == VIEW:
        flaw = find_flaw(definition, catalog, settings)
    note = f"can never run: {flaw}" if flaw else over_note(definition)
    row = {"pipeline": definition.job} | pick(definition, "kind", "dataset", "target")
    return row | pick(timing, "schedule", "start", "end") | {"note": note}


def over_note(definition: Definition) -> str:
    """Advice for a pipeline that has no interval from start_date to end_date; "" for others."""
    if not definition.timing.is_over:
        return ""
    return f"starts after its end; run one with --dataid, or change end_date: {definition.place}"


def _dataset(definition: DatasetDefinition) -> dict[str, Any]:
    mapping = [
        {"source": field.source, "column": field.column, "type": field.definition}
        for field in definition.mapped
    ]
    return {
        "source": _source(definition.source),
        "mapping": mapping
        + ([{"source": "...", "column": "...", "type": "all others"}] * definition.has_others),
        "mode": definition.mode,
        "write": definition.write,
        "partition_column": definition.partition_column,
        "indexes": [list(columns) for columns in definition.indexes],
        "comment": definition.comment,
        "rejects": str(definition.rejects),
    }


def _view(definition: ViewDefinition) -> dict[str, Any]:
    sql = definition.sql
    fields = sql.fields
    if fields is not True:
        fields = [[item] if isinstance(item, str) else list(item) for item in fields]
    found: dict[str, Any] = {"reads": list(definition.reads), "dialect": sql.dialect}
    if sql.query:
        found["query"] = sql.query
    else:
        found |= {"fields": fields, "join_clause": sql.join_clause, "where_clause": sql.where_clause}
    return found | {"params": dict(sql.params), "materialized": definition.materialized}


_OWN: dict[str, Any] = {
    DATASET: _dataset,
    VIEW: _view,
    PYTHON: lambda job: {"inputs": [str(item) for item in job.inputs], "mode": job.mode},
}


def _source(source: Http | Files | TableSource) -> dict[str, Any]:
    if isinstance(source, Files):
        return {"kind": "files", "path": source.path, "format": source.format or "by file extension"}
    if isinstance(source, TableSource):
        read = {"query": source.query} if source.query else {"table": f"{source.schema}.{source.table}"}
        split = {"split_column": source.split_column} if source.split_column else {}
        return {"kind": "table", "connection": source.connection} | read | split
    return {
        "kind": "http",
        "url": _shown_url(source.url),
        "pagination": describe_pages(source),
        "authentication": _authentication(source.auth),
        "headers": [name for name, _ in source.headers],  # a value may be a secret key
        "limits": changed_fields(source.limits),
        "allowed_origins": list(source.allowed_origins),
        "proxy": _proxy(source.proxy),
        "nan": source.nan or "refused",
    }


def _shown_url(url: str) -> str:
    """The URL without the values in its query, which may be secret keys; {dataid} and the like are kept."""
    try:
        return str(parse_address(url)).replace("%7B", "{").replace("%7D", "}")
    except FetchError as error:
        return f"cannot be used: {error}"


def _authentication(auth: Auth | None) -> str:
    if auth is None:
        return "hawk, if HAWK_ID is set; else none"
    if auth.kind == NOBODY.kind:
        return auth.kind
    variables = [getattr(auth, part) for part in AUTH_PARTS if getattr(auth, part)]
    named = f" in {auth.name}" if auth.name else ""
    if auth.grant.url:
        named = f", token of {_shown_url(auth.grant.url)}"
    return f"{auth.kind}{named}, from {', '.join(variables)}"


def _proxy(proxy: str | None) -> str:
    if proxy is None:
        return "from http_proxy, https_proxy and no_proxy, if set"
    return parse_proxy(proxy, "proxy").url if proxy else "none"
