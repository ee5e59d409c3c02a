"""Frozen records: equal by value, immutable, cheap to create."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from dataflow.model.record import names_of, record, replace


@record
class Point:
    """A record for these tests."""

    x: int
    y: int = 2
    secret: str = ""

    _hidden = ("secret",)

    @property
    def total(self) -> int:
        """Sum."""
        return self.x + self.y


def make_kind() -> type:
    """A class like Point without instances."""

    @record
    class Fresh:
        x: int
        y: int = 2
        secret: str = ""

        @property
        def total(self) -> int:
            return self.x + self.y

    return Fresh


def test_fields_are_given_by_position_or_by_name_and_have_defaults() -> None:
    assert Point(1) == Point(x=1, y=2) == Point(1, 2, "")


@pytest.mark.parametrize(
    ("values", "named", "message"),
    [
        ((), {}, "missing 1 required positional argument: 'x'"),
        ((1,), {"z": 3}, "unexpected keyword argument 'z'"),
        ((), {"z": 3}, "unexpected keyword argument 'z'"),
        ((), {"y": 2, "secret": "", "z": 3}, "unexpected keyword argument 'z'"),
        ((1,), {"x": 1}, "multiple values for argument 'x'"),
        ((1, 2, "", 4), {}, "takes from 2 to 4 positional arguments but 5 were given"),
    ],
)
@pytest.mark.parametrize("made", [0, 30])
def test_wrong_fields_of_an_early_or_late_instance_are_refused(
    values: tuple[object, ...], named: dict[str, object], message: str, made: int
) -> None:
    kind: Any = make_kind()
    for number in range(made):
        assert kind(number).total == number + 2
    with pytest.raises(TypeError, match=message):
        kind(*values, **named)
    assert kind(7, secret="s") == kind(x=7, secret="s")


def test_early_and_late_instances_are_equal() -> None:
    kind: Any = make_kind()
    made = [kind(1, secret="s") for _ in range(30)]
    assert {(point.x, point.y, point.secret) for point in made} == {(1, 2, "s")}
    assert len(set(made)) == 1


def test_no_field_can_be_changed_removed_or_added() -> None:
    point = Point(1)
    with pytest.raises(AttributeError):
        point.x = 5  # type: ignore[misc]
    with pytest.raises(AttributeError):
        del point.x
    with pytest.raises(AttributeError):
        point.other = 5  # type: ignore[attr-defined]
    assert point == Point(1)


def test_records_are_equal_and_hashed_by_value_and_kind() -> None:
    @record
    class Other:
        x: int
        y: int = 2
        secret: str = ""

    assert Point(1) != Point(2)
    other: object = Other(1)
    assert Point(1) != other
    assert len({Point(1), Point(1), Point(2)}) == 2


def test_replace_changes_a_copy() -> None:
    point = Point(1)
    assert replace(point, y=9) == Point(1, 9)
    assert point == Point(1)
    with pytest.raises(TypeError):
        replace(point, z=1)


def test_hidden_fields_do_not_show_in_the_text() -> None:
    text = repr(Point(1, secret="hunter2hunter2"))
    assert text == "Point(x=1, y=2)"


def test_methods_field_names_and_pickling_work() -> None:
    assert Point(1).total == 3
    assert names_of(Point(1)) == ("x", "y", "secret")
    assert pickle.loads(pickle.dumps(Point(7))) == Point(7)
