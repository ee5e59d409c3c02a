"""Frozen records: equal by value, immutable, cheap to create."""

from __future__ import annotations

import pickle

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


def test_fields_are_given_by_position_or_by_name_and_have_defaults() -> None:
    assert Point(1) == Point(x=1, y=2) == Point(1, 2, "")


def test_a_missing_or_unknown_field_is_refused() -> None:
    with pytest.raises(TypeError):
        Point()  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        Point(1, z=3)  # type: ignore[call-arg]


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
