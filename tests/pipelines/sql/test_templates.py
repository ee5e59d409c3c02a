"""Templates of view pipelines and what they render to."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from dataflow.errors import BadInput
from dataflow.pipelines.sql.macros import TemplateInterval
from dataflow.pipelines.sql.templates import render

OCTOBER = datetime(2017, 10, 1, tzinfo=UTC)
NOVEMBER = TemplateInterval(
    datetime(2017, 11, 1, tzinfo=UTC), datetime(2017, 12, 1, tzinfo=UTC), previous=OCTOBER
)
LONDON = ZoneInfo("Europe/London")
LAST_DAY = """date_trunc('month', to_date('{{ macros.datetime.strptime(ds, '%Y-%m-%d') +
\tmacros.dateutil.relativedelta.relativedelta(months=+1, days=-1) }}', 'YYYY-MM-DD'));"""
FINANCIAL_YEAR = """{% if macros.datetime.strptime(ds, '%Y-%m-%d') <=
    macros.datetime.strptime('{0}-{1}'.format(macros.ds_format(ds, '%Y-%m-%d', '%Y'), first), '%Y-%m-%d') %}
    {{ macros.ds_format(macros.ds_add(ds, -365), '%Y-%m-%d', '%Y') }}-{{ first }}
{% else %} {{ macros.ds_format(ds, '%Y-%m-%d', '%Y') }}-{{ params.first }} {% endif %}"""


def rendered(text: str, interval: TemplateInterval = NOVEMBER, **given: object) -> str:
    params = given.pop("params", None)
    constants = given.pop("constants", None)
    return render(text, "OrdersViewPipeline.where_clause", interval, params, constants)  # type: ignore[arg-type]


def refusal(text: str, **given: object) -> str:
    with pytest.raises(BadInput) as caught:
        rendered(text, **given)  # type: ignore[arg-type]
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{ ds }} {{ ds_nodash }}", "2017-11-01 20171101"),
        ("{{ ts }} {{ ts_nodash }}", "2017-11-01T00:00:00+00:00 20171101T000000"),
        ("{{ prev_ds }} {{ next_ds }} {{ next_ds_nodash }}", "2017-10-01 2017-12-01 20171201"),
        ("{{ yesterday_ds }} {{ tomorrow_ds_nodash }}", "2017-10-31 20171102"),
        (
            "{{ data_interval_start }} {{ data_interval_end.isoformat() }}",
            "2017-11-01 00:00:00+00:00 2017-12-01T00:00:00+00:00",
        ),
        ("{{ execution_date.year }} {{ logical_date.strftime('%d/%m') }}", "2017 01/11"),
        (
            "{{ macros.ds_add(ds, -1) }} {{ macros.ds_format(ds, '%Y-%m-%d', '%d.%m.%y') }}",
            "2017-10-31 01.11.17",
        ),
        ("{{ (execution_date + macros.timedelta(days=3)).date() }}", "2017-11-04"),
        ("{{ ds | replace('-', '_') }}", "2017_11_01"),
    ],
)
def test_airflow_names_are_available(text: str, expected: str) -> None:
    assert rendered(text) == expected


def test_the_last_day_of_the_month_renders_as_a_timestamp() -> None:
    assert "to_date('2017-11-30 00:00:00', 'YYYY-MM-DD')" in rendered(LAST_DAY)


def test_the_financial_year_can_be_computed_from_a_parameter() -> None:
    assert rendered(FINANCIAL_YEAR, params={"first": "04-25"}).strip() == "2017-04-25"
    march = TemplateInterval(datetime(2018, 3, 1, tzinfo=UTC), datetime(2018, 4, 1, tzinfo=UTC))
    assert rendered(FINANCIAL_YEAR, march, params={"first": "04-25"}).strip() == "2017-04-25"


@pytest.mark.parametrize(("day", "first"), [("2018-04-24", "2017-04-25"), ("2018-04-25", "2018-04-25")])
def test_the_first_date_of_the_financial_year_depends_on_the_interval(day: str, first: str) -> None:
    start = datetime.fromisoformat(day).replace(tzinfo=UTC)
    constants = {"FINANCIAL_YEAR_FIRST_MONTH_DAY": "04-25"}
    text = "{{ FINANCIAL_YEAR_FIRST_MONTH_DAY }} {{ financial_year_first_date }}"
    assert rendered(text, TemplateInterval(start, start), constants=constants) == f"04-25 {first}"


def test_an_invalid_start_of_the_financial_year_is_refused() -> None:
    assert "MM-DD" in refusal("x", constants={"FINANCIAL_YEAR_FIRST_MONTH_DAY": "25 April"})


def test_dates_use_the_time_zone_of_the_interval() -> None:
    start, end = datetime(2020, 3, 29, tzinfo=LONDON), datetime(2020, 3, 30, tzinfo=LONDON)
    previous = datetime(2020, 3, 28, tzinfo=LONDON).astimezone(UTC)
    interval = TemplateInterval(start.astimezone(UTC), end.astimezone(UTC), "Europe/London", previous)
    assert rendered("{{ ds }} {{ prev_ds }} {{ next_ds }}", interval) == "2020-03-29 2020-03-28 2020-03-30"


def test_an_undefined_name_is_refused_with_its_place_and_the_nearest_name() -> None:
    message = refusal("a\n{{ yesterday_d }}")
    assert message.startswith('OrdersViewPipeline.where_clause, line 2: "yesterday_d" is undefined')
    assert 'Did you mean "yesterday_ds"?' in message
    assert '"team"' in refusal("{{ params.tem }}", params={"team": 1})
    assert '"ds_add"' in refusal("{{ macros.ds_ad(ds, 1) }}")


def test_the_once_schedule_has_no_dates_without_a_start_date() -> None:
    once = TemplateInterval(NOVEMBER.start, NOVEMBER.start)
    assert rendered("{{ ds }} {{ prev_ds }} {{ next_ds }}", once) == "2017-11-01 2017-11-01 2017-11-01"
    undated = TemplateInterval(NOVEMBER.start, NOVEMBER.start, has_dates=False)
    assert rendered("{{ macros.ds_add('2017-11-01', 1) }}", undated) == "2017-11-02"
    for name in ("ds", "data_interval_end"):
        message = refusal(f"{{{{ {name} }}}}", interval=undated)
        assert message == (
            f'OrdersViewPipeline.where_clause, line 1: "{name}" is undefined: the schedule @once has no '
            "interval without a start_date. Set start_date."
        )


def test_a_parameter_cannot_hide_a_built_in_name() -> None:
    assert '"ds"' in refusal("{{ ds }}", params={"ds": "x"})


@pytest.mark.parametrize(
    "text",
    [
        "{{ ''.__class__.__mro__ }}",
        "{{ macros.ds_add.__globals__ }}",
        "{{ macros.dateutil.parser.parse.__globals__ }}",
        "{{ '{0.__class__}'.format(ds) }}",
        "{{ macros.dateutil.tz.os }}",
        "{{ self._TemplateReference__context }}",
        "{% import 'os' as os %}",
        "{% include '/etc/passwd' %}",
        "{{ cycler.__init__.__globals__ }}",
        "{{ params.update({'a': 1}) }}",
        "{% for i in range(1000000000) %}{% endfor %}",
        "{% for i in range(5000) %}{% for j in range(5000) %}{% endfor %}{% endfor %}",
        "{{ 'a' * 1000000000 }}",
        "{{ 'a'.ljust(1000000000) }}",
        "{{ '{:1000000000}'.format(1) }}",
        "{{ 10 ** 1000000 }}",
        "{{ 1 / 0 }}",
        "{{ ds",
        "{{ macros.datetime.strptime('x', '%Y') }}",
    ],
)
def test_a_template_cannot_escape_the_sandbox(text: str) -> None:
    assert refusal(text, params={"x": 1}).startswith("OrdersViewPipeline.where_clause")
