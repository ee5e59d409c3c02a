"""Conversion of a whole column: by Arrow's casts where every value clearly fits, else value by value.

`find_plain` returns what `convert_strictly` would, only faster; in doubt it returns None.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, chain
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from dataflow.model.record import record
from dataflow.pipelines.shape.json_text import Number, to_json
from dataflow.pipelines.shape.sql_types import FLOATS, MOST_DIGITS, NUMBERS, TEXTS, ColumnType
from dataflow.pipelines.shape.values import Unfit, convert

_TEXTS = {str, type(None)}
_NUMBERS = {int, float, str, Number, type(None)}
_NO_UUID = "00000000-0000-0000-0000-000000000000"
_ISO_WITH_ZONE = (
    r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?"
    r"(?:Z|[+-](?:0[0-9]|1[0-5])(?::?[0-5][0-9])?)$"
)
# Numbers as PostgreSQL writes them; none of them is -0.
_AS_WRITTEN = r"^(?:0(?:\.[0-9]+)?|-?[1-9][0-9]*(?:\.[0-9]+)?|-0\.[0-9]*[1-9][0-9]*)$"
_FRACTION = r"[:,\[]-?[0-9]+[.eE]"
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896  # 0001-01-01 and 9999-12-31 as days since 1970
_DAY_MICROSECONDS = 86_400_000_000
_NOT_PLAIN = (pa.ArrowInvalid, pa.ArrowNotImplementedError, UnicodeError, OverflowError, TypeError)
Proof = Callable[[], bool]
"""Whether the floats of a column equal the source's numbers; False if that is not proven."""


@record
class ColumnForm:
    """Requested form of a column: its type, uuids as text or as 16 bytes, and what is known of its source."""

    type: ColumnType
    uuid_as_bytes: bool = False
    source_is_text: bool = False

    @property
    def arrow(self) -> pa.DataType:
        """The Arrow type of the finished column."""
        return self.type.arrow_type(self.uuid_as_bytes)


@record
class ShapedColumn:
    """A finished column: reasons for misfits by row index, with the source's value for each of them."""

    array: pa.Array
    reasons: dict[int, str]
    values: list[Any]
    missing: int  # rows that lack the field


def find_plain(form: ColumnForm, values: list[Any], floats_are_exact: Proof) -> pa.Array | None:
    """The column if every value has the expected type and fits; None when any needs a closer check.

    `floats_are_exact` is called only when fractions arrived as floats for a numeric, or within JSON, or
    when one is 0.
    """
    try:
        return _plain(form, values, floats_are_exact)
    except _NOT_PLAIN:
        return None


def convert_strictly(form: ColumnForm, values: Sequence[Any]) -> tuple[pa.Array, dict[int, str]]:
    """Convert the column value by value; misfits become NULL, with a reason for each."""
    made: list[object] = []
    reasons: dict[int, str] = {}
    for place, value in enumerate(values):
        try:
            made.append(convert(form.type, value, source_is_text=form.source_is_text))
        except Unfit as unfit:
            made.append(None)
            reasons[place] = str(unfit)
    if form.uuid_as_bytes:
        made = [_with_uuid_bytes(form.type, value) for value in made]
    return pa.array(made, form.arrow), reasons


def _plain(form: ColumnForm, values: list[Any], floats_are_exact: Proof) -> pa.Array | None:
    name = form.type.name
    if name == "array":
        return _plain_list(form, values, floats_are_exact)
    if name in ("json", "jsonb"):
        return None if form.source_is_text else _plain_json(values, floats_are_exact)
    if name in NUMBERS:
        return _plain_number(form, values, floats_are_exact)
    if name == "boolean" and str not in set(map(type, values)):
        return pa.array(values, pa.bool_())
    # Arrow accepts only strings for this, so anything else ends here.
    texts = pa.array(values, pa.string())
    return pa.nulls(len(values), form.arrow) if texts.null_count == len(texts) else _plain_text(form, texts)


def _plain_number(form: ColumnForm, values: list[Any], floats_are_exact: Proof) -> pa.Array | None:
    kinds = set(map(type, values))
    if kinds <= {type(None)}:
        return pa.nulls(len(values), form.arrow)
    if form.type.name in FLOATS:
        return _plain_float(form, values, floats_are_exact)
    if form.type.name != "numeric":
        return _plain_integer(form, values, kinds)
    if not kinds <= _NUMBERS or (float in kinds and not floats_are_exact()):
        return None
    if type(None) in kinds:
        texts = pa.array([None if value is None else str(value) for value in values], pa.string())
    else:
        texts = pa.array(map(str, values), pa.string(), size=len(values))
    if form.type.unlimited:
        return texts if pc.all(pc.match_substring_regex(texts, _AS_WRITTEN)).as_py() else None
    return texts.cast(form.arrow) if _cannot_overflow(texts, form.type.digits[1]) else None


def _cannot_overflow(texts: pa.StringArray, scale: int) -> bool:
    """Arrow misses some overflows when it rescales a decimal: 2e26 would become noise."""
    data = _bytes_of(texts)
    if b"e" in data or b"E" in data:
        return False
    lengths = pc.binary_length(texts)
    if pc.max(lengths).as_py() <= MOST_DIGITS - scale:
        return True
    points = pc.find_substring(texts, ".")
    before_point = pc.max(pc.if_else(pc.less(points, 0), lengths, points)).as_py()
    return bool(pc.max(lengths).as_py() <= MOST_DIGITS and before_point <= MOST_DIGITS - scale)


def _plain_text(form: ColumnForm, texts: pa.StringArray) -> pa.Array | None:
    name = form.type.name
    if name == "uuid":
        return _plain_uuid(form, texts)
    if name == "boolean":
        return texts.cast(pa.bool_())
    if name == "date":
        return _within_years(texts.cast(pa.date32()), pa.int32(), 1)
    if name == "timestamp with time zone":
        return _plain_moment(texts)
    if name == "timestamp without time zone":
        return _plain_local_time(texts)
    if b"\0" in _bytes_of(texts):
        return None
    if form.type.length is not None and pc.max(pc.utf8_length(texts)).as_py() > form.type.length:
        return None
    return texts


def _plain_moment(texts: pa.StringArray) -> pa.Array | None:
    in_utc = pc.all(pc.ends_with(texts, "Z")).as_py()
    in_utc = in_utc and pc.min(pc.binary_length(texts)).as_py() >= len("2026-01-01T00:00Z")
    if in_utc or pc.all(pc.match_substring_regex(texts, _ISO_WITH_ZONE)).as_py():
        return _within_years(texts.cast(pa.timestamp("us", "UTC")), pa.int64(), _DAY_MICROSECONDS)
    local = _plain_local_time(texts)
    return None if local is None else local.cast(pa.timestamp("us", "UTC"))


def _plain_local_time(texts: pa.StringArray) -> pa.Array | None:
    # Arrow also accepts an hour alone; PostgreSQL does not.
    if pc.min(pc.binary_length(texts)).as_py() < len("2026-01-01T00:00"):
        return None
    return _within_years(texts.cast(pa.timestamp("us")), pa.int64(), _DAY_MICROSECONDS)


def _within_years(times: pa.Array, as_integer: pa.DataType, per_day: int) -> pa.Array | None:
    bounds = pc.min_max(times.cast(as_integer)).as_py()
    in_years = bounds["min"] >= _FIRST_DAY * per_day and bounds["max"] < (_LAST_DAY + 1) * per_day
    return times if in_years else None


def _plain_uuid(form: ColumnForm, texts: pa.StringArray) -> pa.Array | None:
    filled = texts.fill_null(_NO_UUID) if texts.null_count else texts
    lengths = pc.min_max(pc.binary_length(filled)).as_py()
    data = _bytes_of(filled)
    dashes = b"-" * len(texts)
    if lengths != {"min": 36, "max": 36} or any(data[place::36] != dashes for place in (8, 13, 18, 23)):
        return None
    try:
        digits = bytes.fromhex(data.decode("ascii").replace("-", ""))
    except ValueError:
        return None
    # Further dashes, or spaces, which fromhex accepts, would have left too few bytes.
    if len(digits) != 16 * len(texts):
        return None
    if not form.uuid_as_bytes:
        return pc.ascii_lower(texts)
    made = pa.FixedSizeBinaryArray.from_buffers(pa.binary(16), len(texts), [None, pa.py_buffer(digits)])
    return pc.if_else(texts.is_valid(), made, None) if texts.null_count else made


def _plain_integer(form: ColumnForm, values: list[Any], kinds: set[type]) -> pa.Array | None:
    if kinds <= {int, type(None)}:
        return pa.array(values, form.arrow)
    if not kinds <= _TEXTS:
        return None
    texts = pa.array(values, pa.string())
    # Arrow also accepts 0x1f.
    return texts.cast(form.arrow) if pc.all(pc.match_substring_regex(texts, "^-?[0-9]+$")).as_py() else None


def _plain_float(form: ColumnForm, values: list[Any], floats_are_exact: Proof) -> pa.Array | None:
    kinds = set(map(type, values))
    if kinds <= {float, int, type(None)}:
        made = pa.array(values, form.arrow)
        zeros = pc.equal(made, 0)
        if float in kinds and pc.any(zeros).as_py():
            given = pc.equal(pa.array(values, pa.float64()), 0)  # differs where a real underflows
            if not given.equals(zeros) or not floats_are_exact():
                return None
    elif kinds <= {str, Number, type(None)} and form.type.name == "double precision":
        texts = pa.array(values, pa.string())
        made = texts.cast(form.arrow)
        if pc.any(pc.match_substring_regex(texts.filter(pc.equal(made, 0)), "^[^eE]*[1-9]")).as_py():
            return None
    else:
        return None
    return made if pc.all(pc.is_finite(made)).as_py() else None


def _plain_json(values: list[Any], floats_are_exact: Proof) -> pa.Array | None:
    made = pa.array([None if value is None else to_json(value) for value in values], pa.string())
    data = _bytes_of(made)
    if b"\\u0000" in data:
        return None
    whole = pa.array([data], pa.binary())  # one long string is searched much faster than many short ones
    has_fraction = float in set(map(type, values)) or pc.match_substring_regex(whole, _FRACTION)[0].as_py()
    return None if has_fraction and not floats_are_exact() else made


def _plain_list(form: ColumnForm, values: list[Any], floats_are_exact: Proof) -> pa.Array | None:
    element = form.type.element
    # Arrow would treat a string as the list of its characters.
    if element is None or not set(map(type, values)) <= {list, type(None)}:
        return None
    if element.name in TEXTS:
        made = pa.array(values, form.arrow)
        plain = not len(made.values) or _plain_text(ColumnForm(element), made.values) is not None
        return made if plain else None
    inner = ColumnForm(element, form.uuid_as_bytes)
    elements = list(chain.from_iterable(value for value in values if value))
    flat = find_plain(inner, elements, floats_are_exact if element.name in FLOATS else lambda: False)
    if flat is None:
        return None
    offsets = [0, *accumulate(len(value) if value else 0 for value in values)]
    absent = pa.array([value is None for value in values], pa.bool_())
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), flat, type=form.arrow, mask=absent)


def _bytes_of(texts: pa.StringArray) -> bytes:
    """All characters of a newly made array, whose buffer holds nothing else."""
    data = texts.buffers()[2]
    return data.to_pybytes() if data is not None else b""


def _with_uuid_bytes(kind: ColumnType, value: Any) -> Any:
    if value is None or (kind.element is None and kind.name != "uuid"):
        return value
    if kind.element is not None:
        return [_with_uuid_bytes(kind.element, element) for element in value]
    return bytes.fromhex(value.replace("-", ""))
