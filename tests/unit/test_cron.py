"""Schedule expressions: presets and cron."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataflow.errors import BadInput
from dataflow.model.cron import calendar_of, canonical_expression
from dataflow.model.grain import Grain


@pytest.mark.parametrize(
    ("expression", "grain"),
    [
        ("@once", Grain.TEXT),
        ("@hourly", Grain.HOURLY),
        ("@daily", Grain.DAILY),
        ("@midnight", Grain.DAILY),
        ("@weekly", Grain.WEEKLY),
        ("@monthly", Grain.MONTHLY),
        ("@quarterly", Grain.QUARTERLY),
        ("0 0 1 */3 *", Grain.TEXT),
        ("every 6 hours", Grain.TEXT),
        ("None", Grain.TEXT),
        ("@yearly", Grain.YEARLY),
        ("@annually", Grain.YEARLY),
        (" @Daily ", Grain.DAILY),
        ("15 * * * *", Grain.HOURLY),
        ("30 6 * * *", Grain.DAILY),
        ("30 6 ? * ?", Grain.DAILY),
        ("0 0 * * 0", Grain.WEEKLY),
        ("0 0 * * 7", Grain.WEEKLY),
        ("0 0 * * sun", Grain.WEEKLY),
        ("0 3 1 * *", Grain.MONTHLY),
        ("0 3 1 1 *", Grain.YEARLY),
        ("0 3 1 JAN *", Grain.YEARLY),
        ("*/15 * * * *", Grain.TEXT),
        ("0 */2 * * *", Grain.TEXT),
        ("0 9 * * 1-5", Grain.TEXT),
        ("0 0 * * 1", Grain.TEXT),
        ("0 0 15 * *", Grain.TEXT),
        ("0 0 1 2 *", Grain.TEXT),
        ("0 0 1 * 0", Grain.TEXT),
        ("0 * 1 * *", Grain.TEXT),
        ("0 0 L * *", Grain.TEXT),
    ],
)
def test_the_grain_follows_from_the_expression(expression: str, grain: Grain) -> None:
    assert calendar_of(canonical_expression(expression))[0] == grain


def test_an_expression_has_one_canonical_form() -> None:
    assert canonical_expression(" @Annually") == "@yearly"
    assert canonical_expression("30   6 * *  *") == "30 6 * * *"


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("61 * * * *", 'minute "61" is not within 0-59'),
        ("0 25 * * *", 'hour "25" is not within 0-23'),
        ("0 0 32 * *", 'day of month "32"'),
        ("0 0 * 13 *", 'month "13"'),
        ("0 0 * * 9", 'day of week "9"'),
        ("0 0 * * FUNDAY", 'day of week "FUNDAY"'),
        ("*/0 * * * *", 'minute "*/0"'),
        ("H * * * *", 'minute "H"'),
        ("R * * * *", 'minute "R"'),
        ("0 R(1-5) * * *", 'hour "R(1-5)"'),
        ("0 1,r/2 * * *", 'hour "1,r/2"'),
        ("０ * * * *", "minute"),
        ("* * * *", "it has 4 fields and a cron expression has 5"),
        ("* * * * * *", "it has 6 fields"),
        ("", "it has 0 fields"),
        ("0 0 30 2 *", "no such day exists"),
        ("@dayly", 'Did you mean "@daily"'),
        ("@reboot", "Presets: @once"),
    ],
)
def test_a_bad_expression_is_refused_with_the_part_that_is_wrong(expression: str, reason: str) -> None:
    with pytest.raises(BadInput) as error:
        canonical_expression(expression)
    assert reason in str(error.value)


@given(st.text(alphabet="0123456789*/,-#?LWHRSUNJAlw() @dm", max_size=20))
def test_any_expression_is_accepted_or_refused(expression: str) -> None:
    try:
        taken = canonical_expression(expression)
    except BadInput:
        return
    assert canonical_expression(taken) == taken


@pytest.mark.parametrize(("expression", "meant"), [("daily", "@daily"), (" Midnight ", "@midnight")])
def test_a_preset_without_its_at_sign_is_suggested(expression: str, meant: str) -> None:
    with pytest.raises(
        BadInput, match=f"it has 1 field and a cron expression has 5: .* Did you mean {meant}\\? Use a preset"
    ):
        canonical_expression(expression)
