"""Finding the pipelines of a project, and reporting problems in its files."""

from __future__ import annotations

from pathlib import Path

import pytest

from dataflow.errors import BadInput
from dataflow.pipelines.declare.catalog import Catalog
from dataflow.pipelines.declare.definitions import DatasetDefinition, ViewDefinition
from dataflow.pipelines.register.spans import interval_of

DATASET = """\
class OMISDatasetPipeline:
    # Target table name
    table_name = 'omis_dataset'
    source_url = '{}/v4/dataset/omis-dataset'.format(constants.DATAHUB_BASE_URL)
    target_db = 'datasets_db'
    start_date = datetime.now().replace(day=1)
    end_date = datetime(2019, 12, 1)
    field_mapping = [
        (
            'reference',
            'omis_order_reference',
            'character varying(100) PRIMARY KEY'
        ),
        (
            'company__name',
            'company_name',
            'character varying(255) NOT NULL'
        ),
        ('completed_on', 'completion_date', 'timestamp with time zone'),
\t...
   ]
"""
VIEW = """\
class CompletedOMISOrderViewPipeline():
    view_name = 'completed_omis_orders'
    dataset_pipeline = OMISDatasetPipeline
    start_date = datetime(2017, 11, 1)
    end_date = datetime(2018, 2, 1)
    catchup = True
    fields = [('company_name', 'Company Name')]
    where_clause = "date_trunc('month', completion_date)::DATE = to_date('{{ ds }}', 'YYYY-MM-DD');"
    schedule_interval = '@monthly'
"""
BASE_URL = {"DATAHUB_BASE_URL": "https://datahub.example"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pipelines").mkdir()
    return tmp_path


def load(folder: Path, environ: dict[str, str] | None = None, **files: str) -> Catalog:
    for name, text in files.items():
        (folder / "pipelines" / f"{name}.py").write_text(text)
    return Catalog(str(folder), BASE_URL if environ is None else environ)


def test_plain_classes_are_found_by_name_in_any_file_order(folder: Path) -> None:
    catalog = load(folder, a_views=VIEW, b_datasets=DATASET)
    assert catalog.problems == []
    dataset = catalog.get("OMISDatasetPipeline")
    view = catalog.get("CompletedOMISOrderViewPipeline")
    assert isinstance(dataset, DatasetDefinition)
    assert isinstance(view, ViewDefinition)
    assert (dataset.dataset, dataset.target, dataset.mode) == ("omis_dataset", "datasets_db", "snapshot")
    assert dataset.has_others
    assert [field.column for field in dataset.mapped][:2] == ["omis_order_reference", "company_name"]
    assert (view.reads, view.target, view.timing.start) == (("omis_dataset",), "datasets_db", "2017-11-01")


def test_a_moving_start_is_rounded_down_to_its_interval_and_one_after_the_end_is_reported(
    folder: Path,
) -> None:
    timing = load(folder, datasets=DATASET).get("OMISDatasetPipeline").timing
    assert timing.start.endswith("-01")
    assert timing.end == "2019-12-01"
    assert timing.is_over


@pytest.mark.parametrize("schedule", ["@hourly", "@daily", "@weekly", "@yearly", "@once", "*/10 * * * *"])
@pytest.mark.parametrize("end", ["datetime(9999, 12, 31)", "datetime.max", "datetime.max.date()"])
def test_an_end_in_the_last_year_of_the_calendar_means_no_end(folder: Path, schedule: str, end: str) -> None:
    text = DATASET.replace("datetime(2019, 12, 1)", end).replace(
        "target_db = 'datasets_db'", f"schedule_interval = {schedule!r}; timezone = 'America/New_York'"
    )
    catalog = load(folder, datasets=text)
    assert catalog.problems == []
    timing = catalog.get("OMISDatasetPipeline").timing
    assert (timing.end, timing.is_over) == ("9999-12-31", False)


def test_a_dataid_at_the_end_of_the_calendar_is_refused(folder: Path) -> None:
    timing = load(folder, datasets=DATASET).get("OMISDatasetPipeline").timing
    with pytest.raises(BadInput, match='"9999-12-31" is not an interval that ends within the calendar'):
        interval_of(timing, "9999-12-31")


def test_a_number_with_a_leading_zero_is_reported_with_its_line(folder: Path) -> None:
    catalog = load(folder, datasets=DATASET.replace("12, 1)", "12, 01)"), views=VIEW)
    assert catalog.problems[0] == (
        "pipelines/datasets.py:7: a number must not begin with 0 in `end_date = datetime(2019, 12, 01)`: "
        "write 1 instead of 01."
    )


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("datetime(2019, 08, 1)", "write 8 instead of 08."),
        ("10 + 007", "write 7 instead of 007."),
        ("00_5", "write 5 instead of 00_5."),
    ],
)
def test_the_replacement_number_is_taken_from_the_file(folder: Path, written: str, told: str) -> None:
    (problem,) = load(folder, a=f"x = {written}  # 09\n").problems
    assert problem == f"pipelines/a.py:1: a number must not begin with 0 in `x = {written}  # 09`: {told}"


@pytest.mark.parametrize(
    ("before", "told"), [("['a']", "this list and the '('"), ("'a'", "this \"'a'\" and the '('")]
)
def test_a_comma_missing_after_another_literal_is_reported(folder: Path, before: str, told: str) -> None:
    (problem,) = load(folder, a=f"x = [\n    {before}\n    ('b', 'c')\n]\n").problems
    assert problem.startswith(f"pipelines/a.py:2: a comma is missing between {told}")


def test_a_missing_comma_is_reported_with_its_line(folder: Path) -> None:
    broken = DATASET.replace("NOT NULL'\n        ),", "NOT NULL'\n        )")
    catalog = load(folder, datasets=broken)
    assert catalog.problems == [
        "pipelines/datasets.py:18: a comma is missing after this ')': two tuples follow each other. Add it."
    ]


def test_a_broken_file_does_not_stop_the_others_from_loading(folder: Path) -> None:
    catalog = load(folder, broken="class X(:", datasets=DATASET)
    assert list(catalog.definitions) == ["OMISDatasetPipeline"]
    assert catalog.problems[0].startswith("pipelines/broken.py:1: ")


def test_a_view_of_a_class_that_could_not_be_loaded_says_so(folder: Path) -> None:
    catalog = load(folder, datasets=DATASET.replace("12, 1)", "12, 01)"), views=VIEW)
    assert catalog.problems[1].startswith("pipelines/views.py:3: OMISDatasetPipeline is not defined here")


def test_the_constants_file_takes_precedence_over_the_environment(folder: Path) -> None:
    (folder / "constants.py").write_text("DATAHUB_BASE_URL = 'https://own.example'\n")
    definition = load(folder, datasets=DATASET).get("OMISDatasetPipeline")
    assert isinstance(definition, DatasetDefinition)
    assert definition.source.url == "https://own.example/v4/dataset/omis-dataset"  # type: ignore[union-attr]


def test_an_undefined_constant_is_named(folder: Path) -> None:
    catalog = load(folder, {}, datasets=DATASET)
    assert "constants has no DATAHUB_BASE_URL" in catalog.problems[0]
    assert catalog.problems[0].startswith("pipelines/datasets.py:4: ")


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("table_name = 'omis_dataset'", "table_nam = 'omis_dataset'", 'Did you mean "table_name"?'),
        ("table_name = 'omis_dataset'", "", "OMISDatasetPipeline.table_name is missing."),
        ("target_db = 'datasets_db'", "mode = 'snapshots'", "must be one of snapshot, partition"),
        ("character varying(100)", "karacter(100)", "field_mapping item 1"),
        ("end_date = datetime(2019, 12, 1)", "end_date = '2019-12-01'", "end_date must be a datetime"),
        (
            "datetime.now().replace(day=1)",
            "datetime(9999, 12, 1)",
            "start_date is 9999-12-01, but must be in",
        ),
        (
            "datetime.now().replace(day=1)",
            "datetime.min",
            "start_date is 0001-01-01, but must be in the years",
        ),
        ("'omis_dataset'", "'omis dataset'", "is not a valid name for a dataset"),
        ("target_db = 'datasets_db'", "checks = 5", "checks must be a list, such as [minimum_rows(10)]"),
        ("target_db = 'datasets_db'", "indexes = 'status'", 'indexes must be a list, such as ["status"]'),
        ("target_db = 'datasets_db'", "indexes = [5]", "indexes holds"),
        ("target_db = 'datasets_db'", "timezone = 'Mars'", "timezone: "),
        ("target_db = 'datasets_db'", "catchup = 'no'", "catchup must be True or False, got \"'no'\""),
        ("target_db = 'datasets_db'", "retries = -5", "retries must be a whole number from 0 to 2147483647"),
        ("target_db = 'datasets_db'", "retries = True", "retries must be a whole number"),
        ("target_db = 'datasets_db'", "retries = 1.5", "retries must be a whole number"),
        (
            "target_db = 'datasets_db'",
            "retry_delay_seconds = float('nan')",
            "retry_delay_seconds must be a num",
        ),
        ("target_db = 'datasets_db'", "target_bd = datetime", 'Did you mean "target_db"?'),
        ("target_db = 'datasets_db'", "rejects = {'quarantine': 1.0}", "nor a share below 1"),
    ],
)
def test_an_invalid_attribute_is_reported_with_its_place(
    folder: Path, old: str, new: str, reason: str
) -> None:
    catalog = load(folder, datasets=DATASET.replace(old, new))
    assert catalog.definitions == {}
    assert reason in catalog.problems[0]
    assert "?." not in catalog.problems[0]
    assert catalog.problems[0].startswith("pipelines/datasets.py:1: ")


SOURCES = "from dataflow.pipelines.declare.sources import *\n"
URL = "source_url = '{}/v4/dataset/omis-dataset'.format(constants.DATAHUB_BASE_URL)"


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (
            "source_url = 'http://a/{oops}'",
            'source_url: the URL has "{oops}", which is unknown. {dataid}',
        ),
        ("source_url = 'http://a/{{dataid}}'", 'source_url: the URL has "{"'),
        ("source = http('http://a/?day={data_id}')", 'source: the URL has "{data_id}"'),
        ("source = files('in/{oops}.csv')", 'source: the path has "{oops}"'),
        ("source = files('in/{start}.csv')", "{dataid} stands for that of the interval"),
    ],
)
def test_an_unknown_name_in_braces_is_refused(folder: Path, source: str, reason: str) -> None:
    catalog = load(folder, datasets=SOURCES + DATASET.replace(URL, source))
    assert catalog.definitions == {}
    assert reason in catalog.problems[0]


@pytest.mark.parametrize(
    "source",
    [
        "source_url = 'http://a/{dataid}?from={start}&to={end}&filter=%7B%22a%22:1%7D'",
        "source = files('in/[{]x[}]-{dataid}.csv')",
    ],
)
def test_known_names_in_braces_and_escaped_braces_are_accepted(folder: Path, source: str) -> None:
    assert load(folder, datasets=SOURCES + DATASET.replace(URL, source)).problems == []


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (
            "http('http://a', pages='next')",
            "source: pages must be next_link(…), link_header(…), page_number(…)",
        ),
        ("http('http://a', pages={'next': 'x'})", "source: pages must be next_link"),
        ("http('http://a', pages=next_link(next=5))", "source: pages has next=5, which must be a string."),
        ("http('http://a', pages=offset(limit=0))", "limit=0, which must be a whole number of at least 1."),
        (
            "http('http://a', pages=page_number(size_parameter='n'))",
            "source: pages has size_parameter but no",
        ),
        ("http('http://a', auth='HAWK')", "source: auth must be hawk(…), oauth2(…), bearer(…), "),
        ("http('http://a', auth=bearer(5))", "source: auth has secret_variable=5, which must be a string."),
        ("http('http://a', limits={'attempts': 3})", "source: limits must be limits(…), got"),
        (
            "http('http://a', limits=limits(request_seconds='five'))",
            "request_seconds='five', which must be a n",
        ),
        (
            "http('http://a', limits=limits(attempts=0))",
            "attempts=0, which must be a whole number of at least",
        ),
        ("http('http://a', limits=limits(parallel=True))", "parallel=True, which must be a whole number"),
        ("http('http://a', limits=limits(total_seconds=0))", "total_seconds=0, which must be a number of at"),
        ("http('http://a', allowed_origins='https://b')", "allowed_origins='https://b' must be a list"),
        ("http('http://a', nan='zero')", "source: nan='zero' is unknown: write nan=\"null\""),
        ("http('http://a', proxy=5)", 'source: proxy must be a string: the URL of a proxy, or "" for none.'),
        (
            "http('http://a', proxy='socks5://me:hunter2@p')",
            "source: proxy is a 'socks5' proxy: only",
        ),
        (
            "http('http://a', pages=page_number(total_pages=3))",
            "pages has total_pages=3, which must be a string",
        ),
        (
            "http('http://a', auth=oauth2('login'))",
            "auth has a token_url that cannot be used: The URL 'login'",
        ),
        ("http('http://a', auth=oauth2('http://b', scope=1))", "auth has scope=1, which must be a string."),
        (
            "http('http://a', auth=oauth2('http://b', client_auth='post'))",
            "auth has client_auth='post', which must be 'basic' or 'body'.",
        ),
        ("http(5)", "source: the URL must be a string, got"),
        ("table('wh')", "source: table(…) takes the name of a table or query=, but not both."),
        ("table('wh', 'orders', query='select 1')", "a table or query=, but not both."),
        (
            "table('wh', 'orders', split_column=1)",
            "source: table has split_column=1, which must be a string.",
        ),
        ("files('in/x.txt')", "source: Path 'in/x.txt' has no known file extension: set the source's format"),
        ("files('in/x.csv', format='tsv')", "source: Unknown format 'tsv'"),
    ],
)
def test_an_invalid_source_is_reported_when_it_is_loaded(folder: Path, source: str, reason: str) -> None:
    catalog = load(folder, datasets=SOURCES + DATASET.replace(URL, f"source = {source}"))
    assert catalog.definitions == {}
    assert reason in catalog.problems[0]
    assert catalog.problems[0].startswith("pipelines/datasets.py:")
    assert "BadInput" not in catalog.problems[0]


@pytest.mark.parametrize(
    ("attribute", "reason"),
    [
        (
            "checks = [not_null('company_nam')]",
            'checks: check not_null(company_nam): unknown column "company',
        ),
        (
            "checks = [fresh('company_name', '2 days')]",
            "cannot be used with a column of type character varying(255)",
        ),
        (
            "indexes = [('company_name', 'nam')]",
            'OMISDatasetPipeline.indexes names the unknown column "nam"',
        ),
        ("indexes = ['dataid']", 'indexes names the unknown column "dataid"'),
        (
            "write = 'merge'",
            'OMISDatasetPipeline.write is "merge", which needs a PRIMARY KEY in field_mapping.',
        ),
    ],
)
def test_a_reference_to_an_unknown_column_is_reported_when_it_is_loaded(
    folder: Path, attribute: str, reason: str
) -> None:
    text = DATASET.replace("target_db = 'datasets_db'", attribute).replace(" PRIMARY KEY", "")
    text = "from dataflow.pipelines.shape.checks import *\n" + text
    catalog = load(folder, datasets=text.replace("\t...\n", ""))
    assert catalog.definitions == {}
    assert catalog.problems[0].startswith("pipelines/datasets.py:2: ")
    assert reason in catalog.problems[0]
    assert bool(load(folder, datasets=text).definitions) == ("merge" not in attribute)  # it may differ


def test_the_partition_column_may_be_indexed(folder: Path) -> None:
    text = DATASET.replace("\t...\n", "")
    text = text.replace("target_db =", "mode = 'partition'; indexes = ['dataid']; target_db =")
    assert load(folder, datasets=text).problems == []


def test_a_boolean_attribute_of_a_view_must_not_be_a_string(folder: Path) -> None:
    view = VIEW.replace("catchup = True", "materialized = 'False'")
    catalog = load(folder, datasets=DATASET, views=view)
    assert "CompletedOMISOrderViewPipeline.materialized must be True or False" in catalog.problems[0]


def test_inherited_attributes_are_checked_like_the_pipelines_own(folder: Path) -> None:
    common = "class Common:\n    {}\n    _mine = 1\n    def note(self): pass\n    label = property(note)\n"
    view = VIEW.replace("ViewPipeline():", "ViewPipeline(Common, ViewPipeline):")
    view = "from dataflow.pipelines.declare.bases import ViewPipeline\n{}" + view
    good = load(folder, datasets=DATASET, views=view.replace("{}", common.format("retries = 2"), 1))
    assert good.problems == []
    assert good.get("CompletedOMISOrderViewPipeline").timing.retries == 2
    catalog = load(
        folder, datasets=DATASET, views=view.replace("{}", common.format("where_claus = '1 = 0'"), 1)
    )
    assert (
        'CompletedOMISOrderViewPipeline.where_claus is not an attribute of a pipeline. Did you mean "where_c'
        in (catalog.problems[0])
    )


def test_a_start_with_a_zone_is_converted_to_the_pipelines_zone(folder: Path) -> None:
    text = DATASET.replace(
        "datetime.now().replace(day=1)", "datetime.fromisoformat('2019-01-05T10:00:00-05:00')"
    )
    text = text.replace("target_db = 'datasets_db'", "schedule_interval = '@once'")
    assert load(folder, datasets=text).get("OMISDatasetPipeline").timing.start == "2019-01-05T15:00"


def test_broken_constants_are_reported_with_their_line_and_affect_only_their_users(folder: Path) -> None:
    (folder / "constants.py").write_text("A = 1\nB = 1 / 0\n")
    plain = DATASET.replace(".format(constants.DATAHUB_BASE_URL)", "").replace("OMISD", "PlainD")
    plain = plain.replace("omis_dataset", "plain").replace("{}", "https://own.example")
    catalog = load(folder, datasets=DATASET, plain=plain)
    assert list(catalog.definitions) == ["PlainDatasetPipeline"]
    assert catalog.problems[0].startswith("constants.py:2: ")
    assert "constants has no DATAHUB_BASE_URL" in catalog.problems[1]


@pytest.mark.parametrize(
    "end", ["sys.exit(0)", "raise SystemExit('enough')", "raise BaseException('enough')"]
)
def test_a_file_that_exits_is_reported_with_its_line_and_affects_no_other_file(
    folder: Path, end: str
) -> None:
    (folder / "constants.py").write_text(f"import sys\n\nif True:\n    {end}\n")
    plain = DATASET.replace(".format(constants.DATAHUB_BASE_URL)", "").replace("{}", "https://own.example")
    catalog = load(folder, a_script=f"import sys\n{end}\n", datasets=plain)
    assert list(catalog.definitions) == ["OMISDatasetPipeline"]
    assert catalog.problems[0].startswith("constants.py:4: ")
    assert catalog.problems[1].startswith("pipelines/a_script.py:2: ")
    assert all(("remove sys.exit()" in problem) == ("xit" in end) for problem in catalog.problems)


def test_ctrl_c_while_files_are_loaded_is_not_reported_as_their_error(folder: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        load(folder, datasets="raise KeyboardInterrupt")


def test_a_name_that_is_not_a_string_is_reported_and_affects_no_other_file(folder: Path) -> None:
    catalog = load(folder, datasets=DATASET, views=VIEW.replace("'completed_omis_orders'", "[]"))
    assert list(catalog.definitions) == ["OMISDatasetPipeline"]
    assert "view_name must be a string" in catalog.problems[0]


def test_two_pipelines_of_one_dataset_are_refused(folder: Path) -> None:
    catalog = load(folder, a=DATASET, b=DATASET.replace("OMISDataset", "OtherDataset"))
    assert list(catalog.definitions) == ["OMISDatasetPipeline"]
    assert "makes omis_dataset, which OMISDatasetPipeline already makes" in catalog.problems[0]


@pytest.mark.parametrize(
    ("wrong", "line"), [(DATASET.replace("varying(100)", "varyin(100)"), 1), (DATASET + "x = (1\n", 22)]
)
@pytest.mark.parametrize("named", ["OMISDatasetPipeline", "'OMISDatasetPipeline'"])
def test_a_pipeline_that_cannot_be_loaded_is_reported_without_suggesting_another(
    folder: Path, wrong: str, line: int, named: str
) -> None:
    other = DATASET.replace("OMISDataset", "OMIDataset").replace("omis_dataset", "other")
    view = VIEW.replace("= OMISDatasetPipeline", f"= {named}")
    catalog = load(folder, datasets=wrong, others=other, views=view)
    with pytest.raises(BadInput) as refusal:
        catalog.get("OMISDatasetPipeline")
    assert str(refusal.value).startswith(
        f"OMISDatasetPipeline cannot be loaded: pipelines/datasets.py:{line}: "
    )
    assert 'Did you mean "OMI' not in str(refusal.value)
    if line == 1 or named.startswith("'"):
        with pytest.raises(BadInput) as refusal:
            catalog.get("CompletedOMISOrderViewPipeline")
        told = f'is "OMISDatasetPipeline", which cannot be loaded: see pipelines/datasets.py:{line}.'
        assert told in str(refusal.value)


def test_a_view_may_name_the_dataset_of_a_pipeline_that_cannot_be_loaded(folder: Path) -> None:
    view = VIEW.replace("= OMISDatasetPipeline", "= 'omis_dataset'")
    catalog = load(folder, datasets=DATASET.replace("varying(100)", "varyin(100)"), views=view)
    assert 'is "omis_dataset", which cannot be loaded: see pipelines/datasets.py:1.' in catalog.problems[1]
