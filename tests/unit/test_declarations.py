"""Datasets and jobs in TOML, and durations as people write them."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dataflow.config.declarations import Declarations, read_declarations, write_declarations
from dataflow.config.durations import parse_seconds
from dataflow.config.fields import parse_input
from dataflow.config.settings import load_config
from dataflow.errors import BadInput, ConfigError
from dataflow.model.grain import Grain
from dataflow.model.record import names_of
from dataflow.model.records import Dataset, Job, JobInput
from dataflow.model.wording import format_seconds

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"))
NAMES = TEXT.filter(str.strip)
DATASET_NAMES = NAMES.filter(lambda name: ":" not in name and name == name.strip())
PAIRS = st.dictionaries(NAMES.filter(lambda key: "=" not in key), TEXT, max_size=3)
VARIABLES = st.dictionaries(st.from_regex("[a-z][a-z0-9]{0,9}", fullmatch=True), TEXT, max_size=3)
SORTED_PAIRS = PAIRS.map(lambda pairs: tuple(sorted(pairs.items())))
SECONDS = st.floats(0, 36_500 * 86400) | st.integers(0, 36_500 * 86400).map(float)
COUNTS = st.integers(0, 2**31 - 1)

GRAINS = st.sampled_from([grain.value for grain in Grain])
DATASETS = st.builds(
    Dataset, NAMES, hostname=TEXT, database=TEXT, schemaname=TEXT, tablename=TEXT, username=TEXT,
    encryptedpass=TEXT, location=TEXT, format=TEXT, grain=GRAINS,
    timezone=NAMES, mode=NAMES, options=SORTED_PAIRS,
    fresh_within_seconds=SECONDS, due_by=st.sampled_from(["", "06:00", "23:59"]),
)  # fmt: skip
INPUTS = st.builds(
    JobInput,
    DATASET_NAMES,
    st.sampled_from(["same", "previous", "latest", "within", "window(-6, 0)", "all", "pairs"]),
)
JOBS = st.builds(
    Job, NAMES, inputs=st.lists(INPUTS, unique=True, max_size=3).map(tuple),
    outputs=st.lists(NAMES, unique=True, max_size=3).map(tuple), schedule=TEXT,
    environment=VARIABLES.map(lambda pairs: tuple(sorted(pairs.items()))),
    start=TEXT, end=TEXT, catchup=st.booleans(), timezone=NAMES, ordered=st.booleans(), retries=COUNTS,
    retry_delay_seconds=SECONDS, max_running=COUNTS, lease_seconds=SECONDS, grace_seconds=SECONDS,
    timeout_seconds=SECONDS, on_change=NAMES, late_after_seconds=SECONDS,
    priority=st.integers(-(2**31) + 1, 2**31 - 1),
    pool=TEXT, order=NAMES, retry_backoff=st.floats(1, 10), retry_max_delay_seconds=SECONDS,
    final_exit_codes=st.lists(st.integers(1, 255), max_size=3).map(tuple), max_crashes=COUNTS,
)  # fmt: skip


def read(folder: Path, text: str, name: str = "jobs.toml") -> Declarations:
    path = folder / name
    path.write_text(text)
    return read_declarations([str(path)])


def refused(folder: Path, text: str, name: str = "jobs.toml") -> str:
    with pytest.raises(ConfigError) as caught:
        read(folder, text, name)
    return str(caught.value)


def test_a_file_declares_datasets_and_jobs(tmp_path: Path) -> None:
    declared = read(
        tmp_path,
        """
        [dataset.bobin]
        hostname = "db1"
        database = "sales"
        schemaname = "public"
        tablename = "bob"
        username = "etl"
        encryptedpass = "abc"
        location = "data/in/{dataid}.csv"
        format = "csv"
        grain = "daily"
        timezone = "Europe/London"
        mode = "snapshot"
        options = { header = true, delimiter = ";", limit = 5 }
        [dataset.bobout]
        [job.loadbob]
        in = ["bobin", "bobout:previous"]
        out = ["bobout"]
        schedule = "@daily"
        start = 2026-01-01
        end = "2026-12-31"
        catchup = true
        timezone = "Europe/London"
        ordered = true
        retries = 3
        retry_delay = "5m"
        max_running = 4
        lease = 600
        grace = "1m30s"
        priority = -1
        [job.loadbob.environment]
        threads = 4
        greeting = "hello $USER"
        """,
    )
    assert declared.datasets == [
        Dataset(
            "bobin", "db1", "sales", "public", "bob", "etl", "abc", "data/in/{dataid}.csv", "csv", "daily",
            "Europe/London", "snapshot", (("delimiter", ";"), ("header", "true"), ("limit", "5")),
        ),
        Dataset("bobout"),
    ]  # fmt: skip
    assert declared.jobs == [
        Job(
            "loadbob", (JobInput("bobin"), JobInput("bobout", "previous")), ("bobout",),
            (("greeting", "hello $USER"), ("threads", "4")), "@daily", "2026-01-01", "2026-12-31", True,
            "Europe/London", True, 3, 300.0, 4, 600.0, 90.0, -1,
        )
    ]  # fmt: skip


@pytest.mark.parametrize("text", ['"6:30"', "06:30:00"])
def test_a_time_of_day_is_a_string_or_a_toml_time(tmp_path: Path, text: str) -> None:
    (dataset,) = read(tmp_path, f'[dataset.x]\ndue_by = {text}\nfresh_within = "26h"').datasets
    assert (dataset.due_by, dataset.fresh_within_seconds) == ("06:30", 26 * 3600.0)


def test_anything_else_is_no_time_of_day(tmp_path: Path) -> None:
    for text in ('"noon"', "06:30:15"):
        shown = text.strip('"')
        assert f'dataset.x.due_by: "{shown}" is not a time of day' in refused(
            tmp_path, f"[dataset.x]\ndue_by = {text}"
        )


def test_every_field_of_the_records_can_be_declared(tmp_path: Path) -> None:
    # The strategies above name every field; a new one must be added there and to the keys.
    assert set(names_of(Dataset("x"))) - {"name"} == {
        "hostname", "database", "schemaname", "tablename", "username", "encryptedpass", "location", "format",
        "grain", "timezone", "mode", "options", "fresh_within_seconds", "due_by",
    }  # fmt: skip
    assert len(names_of(Job("x"))) == 25


@given(
    datasets=st.lists(DATASETS, unique_by=lambda dataset: dataset.name, max_size=3),
    jobs=st.lists(JOBS, unique_by=lambda job: job.name, max_size=3),
)
@example([Dataset('a."b"\\\n\x1f\x7f\r\n😀 #=[]', options=(("x.y", "\t"),))], [])
def test_written_declarations_read_back_unchanged(
    tmp_path_factory: pytest.TempPathFactory, datasets: list[Dataset], jobs: list[Job]
) -> None:
    path = tmp_path_factory.getbasetemp() / "exported.toml"
    path.write_bytes(write_declarations(datasets, jobs).encode())
    declared = read_declarations([str(path)])
    assert (declared.datasets, declared.jobs) == (datasets, jobs)


def test_written_declarations_look_handwritten() -> None:
    datasets = [Dataset("bobin", grain="daily", options=(("delimiter", ";"),)), Dataset("my out")]
    job = Job(
        "load",
        (JobInput("bobin"), JobInput("my out", "previous")),
        ("my out",),
        (("K", "v"),),
        lease_seconds=90,
    )
    assert write_declarations(datasets, [job]) == (
        "[dataset.bobin]\n"
        'grain = "daily"\n'
        'options = { delimiter = ";" }\n'
        "\n"
        '[dataset."my out"]\n'
        "\n"
        "[job.load]\n"
        'in = ["bobin", "my out:previous"]\n'
        'out = ["my out"]\n'
        'lease = "1m30s"\n'
        "\n"
        "[job.load.environment]\n"
        'K = "v"\n'
    )


def test_several_files_are_read_as_one(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("[dataset.a]\n[job.x]")
    (tmp_path / "b.toml").write_text("[dataset.x]\n[job.a]")
    declared = read_declarations([str(tmp_path / "a.toml"), str(tmp_path / "b.toml")])
    assert [dataset.name for dataset in declared.datasets] == ["a", "x"]
    assert [job.name for job in declared.jobs] == ["x", "a"]


def test_a_name_declared_in_two_files_is_refused_naming_both(tmp_path: Path) -> None:
    paths = [tmp_path / "a.toml", tmp_path / "b.toml"]
    for path in paths:
        path.write_text("[dataset.a]\n[job.b]")
    with pytest.raises(ConfigError) as caught:
        read_declarations([str(path) for path in paths])
    assert f"{paths[1]}: dataset.a: is also declared in {paths[0]}" in str(caught.value)
    assert f"{paths[1]}: job.b: is also declared in {paths[0]}" in str(caught.value)


def test_the_same_file_given_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text("[dataset.a]")
    with pytest.raises(ConfigError, match="declared in"):
        read_declarations([str(path), str(path)])


def test_a_missing_file_is_named() -> None:
    with pytest.raises(ConfigError, match=r"gone\.toml: cannot be read: No such file"):
        read_declarations(["gone.toml"])


def test_a_table_with_nothing_but_a_check_declares_no_dataset(tmp_path: Path) -> None:
    declared = read(
        tmp_path, '[dataset.a]\ncheck = "true"\n[dataset.b]\nformat = "csv"\ncheck = "true"', "dataflow.toml"
    )
    assert declared.datasets == [Dataset("b", format="csv")]
    assert set(declared.checks) == {"a", "b"}


def test_a_check_that_no_worker_would_run_is_refused(tmp_path: Path) -> None:
    message = refused(tmp_path, '[dataset.a]\ncheck = "true"')
    assert "jobs.toml: dataset.a.check: is only read from the dataflow.toml" in message


def test_variables_that_the_store_may_not_set_stay_in_the_project_file(tmp_path: Path) -> None:
    text = '[job.a]\nin = ["x"]\nenvironment = { PATH = "/bin", size = 5 }\n[job.b.environment]\nTZ = "UTC"\n'
    declared = read(tmp_path, text, "dataflow.toml")
    assert declared.jobs == [Job("a", (JobInput("x"),), environment=(("size", "5"),))]
    assert declared.environments == {"a": {"PATH": "/bin"}, "b": {"TZ": "UTC"}}
    message = refused(tmp_path, text)
    assert "jobs.toml: job.a.environment.PATH: is only read from the dataflow.toml" in message
    assert "jobs.toml: job.b.environment.TZ: is only read from the dataflow.toml" in message


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("PASSKEY", "is reserved for DataFlow"),
        ("DATAFLOW_RUN_ID", "is reserved for DataFlow"),
        ("BASH_FUNC_ls%%", "is not a variable name"),
    ],
)
def test_no_file_sets_a_variable_of_dataflow_itself(tmp_path: Path, name: str, reason: str) -> None:
    path = tmp_path / "dataflow.toml"
    path.write_text(f'[job.a.environment]\n"{name}" = "x"')
    with pytest.raises(ConfigError, match=reason):
        read_declarations([str(path)])


def test_settings_are_for_the_project_file_alone(tmp_path: Path) -> None:
    text = 'environment = "dev"\n[dataset.a]'
    assert read(tmp_path, text, "dataflow.toml").datasets == [Dataset("a")]
    assert "jobs.toml: environment: is a setting of the worker; move it to dataflow.toml" in refused(
        tmp_path, text
    )


def test_a_plain_password_is_refused_with_the_alternatives(tmp_path: Path) -> None:
    message = refused(tmp_path, '[dataset.a]\npassword = "hunter22"')
    assert "jobs.toml: dataset.a.password: is a password in plain text" in message
    assert "dataflow secret encrypt" in message
    assert "--password-stdin" in message
    assert "hunter22" not in message


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('[dataset.a]\nlocatoin = "x"', 'dataset.a.locatoin: unknown key. Did you mean "location"?'),
        ("[job.a]\nretry = 1", 'job.a.retry: unknown key. Did you mean "retries"?'),
        ("[jobs.a]", 'jobs: unknown key. Did you mean "job"?'),
        ("[[dataset]]", "dataset: must be named tables, like [dataset.NAME]"),
        ("dataset = 1", "dataset: must be named tables"),
        ("[dataset]\na = 1", "dataset.a: must be a table"),
        ('[dataset.""]', "its name must not be empty"),
        ('[dataset.a]\ngrain = "dayly"', 'dataset.a.grain: "dayly" is not a grain. Did you mean "daily"?'),
        ("[dataset.a]\nhostname = 1", "dataset.a.hostname: must be a quoted string, not a whole number"),
        ('[dataset.a]\nlocation = "a\\u0000b"', "dataset.a.location: must not contain NUL"),
        ("[dataset.a]\noptions = []", "dataset.a.options: must be a table"),
        ("[dataset.a]\noptions = { x = [1] }", "dataset.a.options: x must be a quoted string, not an array"),
        ("[job.a.environment]\n'X=Y' = 'z'", 'job.a.environment: has the key "X=Y"'),
        ('[job.a]\nin = "b"', "job.a.in: must be an array like"),
        ('[job.a]\nin = ["b:"]', 'job.a.in: input "b:" must be a dataset'),
        ('[job.a]\nin = ["b:prevous"]', 'Did you mean "previous"?'),
        ('[job.a]\nin = ["b", "b:same"]', 'job.a.in: names "b" twice'),
        ('[job.a]\nout = ["b", "b"]', 'job.a.out: names "b" twice'),
        ("[job.a]\nout = [1]", "job.a.out: must be a quoted string, not a whole number"),
        ("[job.a]\nretries = -1", "job.a.retries: must not be negative"),
        ("[job.a]\nretries = true", "job.a.retries: must be a whole number, not true or false"),
        ("[job.a]\npriority = 99999999999", "job.a.priority: must be between"),
        ("[job.a]\nfinal_exit_codes = 2", "job.a.final_exit_codes: must be an array like [2, 64]"),
        ('[job.a]\nfinal_exit_codes = ["2"]', "job.a.final_exit_codes: must be a whole number"),
        ('[job.a]\nretry_backoff = "2"', "job.a.retry_backoff: must be a number, not a string"),
        ("[job.a]\nretry_backoff = nan", "job.a.retry_backoff: must be a finite number"),
        ("[job.a]\nmax_crashes = -1", "job.a.max_crashes: must not be negative"),
        ("[job.a]\npool = 4", "job.a.pool: must be a quoted string"),
        ("[job.a]\ncatchup = 1", "job.a.catchup: must be true or false, not a whole number"),
        ("[job.a]\nstart = 12:00:00", "job.a.start: must be a quoted string, not a date or time"),
        ('[job.a]\nlease = "5 minutes"', 'job.a.lease: "5 minutes" is not a duration'),
        ("[job.a]\nlease = inf", "job.a.lease: inf is not between"),
        ("[job.a]\n[job.a]", "jobs.toml:2:"),
    ],
)
def test_what_cannot_be_declared_is_refused_with_file_and_key(tmp_path: Path, text: str, reason: str) -> None:
    message = refused(tmp_path, text)
    assert message.startswith(f"{tmp_path}/jobs.toml:")
    assert reason in message


@pytest.mark.parametrize("check", ["[]", '[""]', '""', "5", "[1]"])
def test_a_check_is_a_command(tmp_path: Path, check: str) -> None:
    assert "dataflow.toml: dataset.a.check: must" in refused(
        tmp_path, f"[dataset.a]\ncheck = {check}", "dataflow.toml"
    )


def test_an_input_is_a_dataset_with_or_without_a_mapping() -> None:
    assert parse_input("bobin") == parse_input("bobin:same") == JobInput("bobin")
    assert parse_input("bobout : Previous") == JobInput("bobout", "previous")


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("5m", 300), ("10s", 10), ("1h30m", 5400), (90, 90), ("90", 90), ("1d", 86400), ("0.5s", 0.5), (0, 0),
     (1.5, 1.5), (" 5m ", 300), ("1d2h3m4s", 93784), ("1.5h", 5400)],
)  # fmt: skip
def test_a_duration_is_read_in_the_forms_people_use(value: object, seconds: float) -> None:
    assert parse_seconds(value) == seconds


@pytest.mark.parametrize(
    ("value", "position", "nearest"),
    [
        ("5 minutes", 1, "5m"),
        ("5min", 3, "5m"),
        ("1h30", 3, "1h30m"),
        ("1H", 1, "1h"),
        ("30m1h", 4, "1h30m"),
        ("5m5m", 3, "90, 90s, 5m or 1h30m"),
        ("soon", 1, "90, 90s, 5m or 1h30m"),
        ("", 1, "90, 90s, 5m or 1h30m"),
        ("1,5h", 1, "1.5h"),
        ("1 day 2 hours", 1, "1d2h"),
        ("٣m", 1, "90, 90s, 5m or 1h30m"),
        ("5m ago", 3, "90, 90s, 5m or 1h30m"),
    ],
)
def test_an_unreadable_duration_is_refused_with_the_place_and_the_nearest_form(
    value: str, position: int, nearest: str
) -> None:
    with pytest.raises(BadInput) as caught:
        parse_seconds(value)
    assert f"(see position {position}); " in str(caught.value)
    assert str(caught.value).endswith(f"write it like {nearest}")


@pytest.mark.parametrize("value", ["-5m", "-1", -1, -0.5])
def test_a_negative_duration_is_refused(value: object) -> None:
    with pytest.raises(BadInput, match="is negative; write it like"):
        parse_seconds(value)


@pytest.mark.parametrize("value", [True, None, [], math.inf, math.nan, 10**400, "9" * 400, "99999d"])
def test_an_invalid_duration_is_refused(value: object) -> None:
    with pytest.raises(BadInput):
        parse_seconds(value)


@given(SECONDS)
@example(1e-300)
@example(86399.0)
def test_a_written_duration_reads_back_exactly(seconds: float) -> None:
    assert parse_seconds(format_seconds(seconds)) == seconds


@given(st.text() | st.from_regex(r"\A([0-9.]{1,3} ?[dhmsx]?){1,4}\Z"))
def test_any_text_is_a_duration_or_is_refused(text: str) -> None:
    try:
        assert 0 <= parse_seconds(text) < math.inf
    except BadInput as error:
        assert "write it like" in str(error)


PIPELINE_TABLES = """
[connection.datasets_db]
url = "postgresql://etl@db/datasets"
anything = ["at", "all"]

[spark]
master = "local[2]"
"""


def test_tables_about_pipelines_are_ignored_here(tmp_path: Path) -> None:
    (tmp_path / "dataflow.toml").write_text(PIPELINE_TABLES)
    assert load_config(str(tmp_path), {}).environment == "dev"
    assert read_declarations([str(tmp_path / "dataflow.toml")]).datasets == []


def test_tables_about_pipelines_are_accepted_only_in_the_project_file(tmp_path: Path) -> None:
    (tmp_path / "other.toml").write_text(PIPELINE_TABLES)
    with pytest.raises(ConfigError, match="connection: is a setting of the worker; move it to"):
        read_declarations([str(tmp_path / "other.toml")])


def test_a_misspelt_table_about_pipelines_is_refused_with_the_nearest_name(tmp_path: Path) -> None:
    (tmp_path / "dataflow.toml").write_text("[sparc]\n")
    with pytest.raises(ConfigError, match="spark"):
        load_config(str(tmp_path), {})


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[dataset.a]\ngrain = daily # x\n", ":2:9: Invalid value: a text needs quotes"),
        ("[job.a]\nin = [orders]\n", ":2:7: Invalid value: a text needs quotes"),
        ("[job.load]\n[job.load]\n", ":2:10: [job.load] is declared twice; keep one of them"),
    ],
)
def test_errors_of_toml_say_what_to_do(tmp_path: Path, text: str, problem: str) -> None:
    found = refused(tmp_path, text)
    assert problem in found
    assert "daily" not in found
