"""The pages about pipelines, their sources and Spark name every attribute, check, key and template name."""

from __future__ import annotations

import ast
import inspect
import re
from datetime import UTC, datetime

import pytest

from dataflow.model.record import names_of
from dataflow.pipelines.declare import bases, sources
from dataflow.pipelines.declare.settings import CONNECTION_KEYS, SPARK_KEYS
from dataflow.pipelines.declare.sources import Http
from dataflow.pipelines.fetch.authentication import Grant
from dataflow.pipelines.fetch.limits import Limits
from dataflow.pipelines.fetch.pagination import LinkHeader, Offset, PageNumber
from dataflow.pipelines.shape import checks
from dataflow.pipelines.spark.session import SUPPORTED
from dataflow.pipelines.spark.session_setup import OLDEST_JAVA
from dataflow.pipelines.sql.macros import MACROS, TemplateInterval, build_context
from tests.docs.pages import DOCS, list_rows, list_sections, list_spans

# The later pages hold the details of sections that the first only introduces.
READ = [DOCS / name for name in ("pipelines.md", "sources.md", "spark.md")]
SECTIONS = {title: text for page in READ for title, text in list_sections(page).items()}
SPANS = [span for page in READ for span in list_spans(page)]
SQL = SECTIONS["SQL and templates"]


def spans_of(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


@pytest.mark.parametrize(
    ("title", "base"),
    [
        ("Attributes of a dataset pipeline", bases.DatasetPipeline),
        ("Attributes of a view pipeline", bases.ViewPipeline),
    ],
)
def test_every_attribute_has_its_row_with_its_default(title: str, base: type) -> None:
    rows = [*list_rows(SECTIONS[title]), *list_rows(SECTIONS["Schedule, retries and limits"])]
    shown = {name: row[1].strip("`") for row in rows for name in spans_of(row[0])}
    assert set(shown) == set(bases.list_attributes(base))
    for name, text in shown.items():
        if hasattr(base, name):
            assert ast.literal_eval(text) == getattr(base, name), name
        else:
            assert text == "", name


def test_every_check_has_its_row() -> None:
    shown = {row[0].strip("`").partition("(")[0] for row in list_rows(SECTIONS["Checks"])}
    made = {
        name
        for name, function in inspect.getmembers(checks, inspect.isfunction)
        if function.__module__ == checks.__name__ and inspect.signature(function).return_annotation == "Check"
    }
    assert shown == {name for name in made if not name.startswith("_")}


def test_every_way_to_page_and_to_authenticate_is_shown() -> None:
    text = SECTIONS["Sources"] + SECTIONS["Pages"] + SECTIONS["Authentication and proxies"]
    for name in ("http", "files", "table", "next_link", "link_header", "page_number", "offset", "cursor"):
        assert hasattr(sources, name)
        assert f"`{name}(" in text
    for name in ("hawk", "oauth2", "bearer", "basic", "api_key"):
        parameters = inspect.signature(getattr(sources, name)).parameters.values()
        arguments = ", ".join(each.name for each in parameters if each.kind is not each.VAR_KEYWORD)
        shown = re.search(rf"`{name}\(([^)]*)\)`", text)
        assert shown
        assert re.sub('="[^"]*"', "", shown[1]) == arguments


def test_every_limit_of_a_fetch_is_shown_with_its_default() -> None:
    text = SECTIONS["Limits"]
    for name in names_of(Limits()):
        shown = re.search(rf"`{name}` \(([0-9,]+)( MiB)?", text)
        assert shown, name
        value = int(shown[1].replace(",", "")) * (1024 * 1024 if shown[2] else 1)
        assert value == getattr(Limits(), name), name


def test_every_option_of_an_http_source_and_of_its_pages_is_shown() -> None:
    made = (Http(""), Grant(), LinkHeader(), PageNumber(), Offset())
    options = {name for each in made for name in names_of(each)}
    shown = " ".join(SPANS)
    missing = [name for name in options - {"url"} if not re.search(rf"\b{name}\b", shown)]
    assert missing == []


def test_every_key_of_a_connection_and_of_spark_has_its_row() -> None:
    assert [row[0].strip("`") for row in list_rows(SECTIONS["Connections"])] == list(CONNECTION_KEYS)
    assert [row[0].strip("`") for row in list_rows(SECTIONS["Spark"])] == list(SPARK_KEYS)


def test_every_name_that_a_template_may_use_is_shown() -> None:
    interval = TemplateInterval(datetime(2019, 2, 1, tzinfo=UTC), datetime(2019, 3, 1, tzinfo=UTC))
    context = build_context(interval, {}, {"FINANCIAL_YEAR_FIRST_MONTH_DAY": "04-06"}, "here")
    shown = {re.split(r"[.(]", span)[0] for span in spans_of(SQL)}
    shown |= {f"{name}_nodash" for name in ("prev_ds", "next_ds", "yesterday_ds", "tomorrow_ds")}
    assert set(context) <= shown
    for name in vars(MACROS):
        assert f"macros.{name}" in SQL


def test_the_supported_versions_are_stated() -> None:
    assert f"Spark {SUPPORTED}, with Java {OLDEST_JAVA} or newer" in SECTIONS["Spark"]


def test_what_a_bare_numeric_holds_is_stated() -> None:
    assert "decimal(38,18)" in SECTIONS["Shape"]
