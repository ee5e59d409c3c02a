"""The final step of aggregates that another engine collected, and other functions that SQL cannot call."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any

from dataflow.pipelines.pg_functions import aggregates, json_model, json_values, jsonb_rows
from dataflow.pipelines.pg_functions.numeric import EXACT, checked, rescaled
from dataflow.pipelines.pg_functions.signatures import ANY, ANY_ARRAY, Signature

_LIMB = 28


def _sum_of_limbs(whole: Decimal, first: Decimal, rest: Decimal, scale: int) -> Decimal:
    """Compute a sum from the sums of whole parts and of the first and next 28 decimal digits."""
    fraction = EXACT.add(EXACT.scaleb(first, -_LIMB), EXACT.scaleb(rest, -2 * _LIMB))
    return checked(rescaled(EXACT.add(whole, fraction), scale))


def _of_sums(name: str, compute: Callable[..., Any], is_sample: bool) -> Signature:
    takes = ("bigint", "numeric", "numeric")
    return Signature(f"{name} of sums", takes, "numeric", partial(compute, is_sample=is_sample))


def _of_list(name: str, compute: Callable[..., Any], is_sample: bool) -> Signature:
    return Signature(f"{name} of list", ("double[]",), "double", partial(compute, is_sample=is_sample))


def _percentiles(fractions: list[float | None], values: list[Any]) -> list[Any]:
    return [None if each is None else aggregates.percentile_disc(each, values) for each in fractions]


def _percentile(fraction: float, values: list[float]) -> float | None:
    return aggregates.percentile_cont(fraction, values, aggregates.between_doubles)


def _several(fractions: list[float | None], values: list[float]) -> list[float | None]:
    return [None if each is None else _percentile(each, values) for each in fractions]


def _most_frequent(values: list[Any]) -> Any:
    return aggregates.mode(values)


_SPREADS = (
    *(("stddev", "deviation", True), ("stddev_samp", "deviation", True), ("stddev_pop", "deviation", False)),
    *(("variance", "variance", True), ("var_samp", "variance", True), ("var_pop", "variance", False)),
)


def _object_of(documents: list[str], ordered: bool) -> str | None:
    """Build an object from pairs, each a JSON array of key and value."""
    pairs = [json_model.parse(each) for each in documents]
    if not ordered and len({key for key, _ in pairs}) < len(
        {tuple(map(json_model.write, pair)) for pair in pairs}
    ):
        raise ValueError("jsonb_object_agg has two values for one key; add ORDER BY inside the parentheses")
    return json_values.jsonb_object_agg(
        [(json_model.write(key), json_model.write(value)) for key, value in pairs]
    )


def _encode(text: str) -> bytes:
    return text.encode()


def _decode(data: bytes) -> str:
    text = data.decode()
    if "\0" in text:
        raise ValueError('invalid byte sequence for encoding "UTF8": 0x00')
    return text


SIGNATURES: tuple[Signature, ...] = (
    Signature("sum of limbs", ("numeric", "numeric", "numeric", "integer"), "numeric", _sum_of_limbs),
    *(_of_sums(name, getattr(aggregates, word), sample) for name, word, sample in _SPREADS),
    *(_of_list(name, getattr(aggregates, f"{word}_doubles"), sample) for name, word, sample in _SPREADS),
    *(
        Signature(
            f"{name} of lists",
            ("double[]", "double[]"),
            "bigint" if name == "regr_count" else "double",
            partial(aggregates.aggregate_pairs, name),
        )
        for name in aggregates.PAIR_AGGREGATES
    ),
    Signature("percentile_cont of list", ("double", "double[]"), "double", _percentile),
    Signature("percentile_cont of list", ("double[]", "double[]"), "double[]", _several),
    Signature("percentile_disc of list", ("double", ANY_ARRAY), ANY, aggregates.percentile_disc),
    Signature("percentile_disc of list", ("double[]", ANY_ARRAY), ANY_ARRAY, _percentiles),
    Signature("jsonb_agg", ("jsonb[]",), "jsonb", json_values.jsonb_agg),
    Signature("jsonb_object_agg of pairs", ("jsonb[]",), "jsonb", partial(_object_of, ordered=False)),
    Signature("jsonb_object_agg of ordered pairs", ("jsonb[]",), "jsonb", partial(_object_of, ordered=True)),
    Signature("json_agg", ("json[]",), "json", json_values.jsonb_agg),
    Signature("jsonb_each values", ("jsonb",), "jsonb", jsonb_rows.each_value, is_set=True),
    Signature("jsonb_each_text values", ("jsonb",), "text", jsonb_rows.each_text, is_set=True),
    Signature("convert_to utf8", ("text",), "bytea", _encode),
    Signature("convert_from utf8", ("bytea",), "text", _decode),
    Signature("mode of list", (ANY_ARRAY,), ANY, _most_frequent),
)
