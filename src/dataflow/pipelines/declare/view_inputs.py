"""What a view pipeline reads: of each dataset the newest, that of the interval, or what `reads` says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dataflow.config.fields import parse_input
from dataflow.model.mapping import LATEST, SAME, SEVERAL_WORDS, word_of
from dataflow.model.records import DATASET, JobInput
from dataflow.model.wording import did_you_mean, quoted
from dataflow.pipelines.declare.attributes import Attributes
from dataflow.pipelines.declare.timing import Timing

if TYPE_CHECKING:
    from dataflow.pipelines.declare.definitions import Definition


def read_view_inputs(
    get: Attributes, named: list[Any], known: Mapping[str, Definition], timing: Timing
) -> tuple[JobInput, ...]:
    """The inputs of a view, by the names in its `dataset_pipeline`; `known` is what it may read."""
    mappings = _read_mappings(get, named, known)
    return tuple(_view_input(get, name, known, timing, mappings.get(str(name), "")) for name in named)


def _read_mappings(get: Attributes, named: list[Any], known: Mapping[str, Definition]) -> dict[str, str]:
    """The attribute `reads`, by the names in `dataset_pipeline`; a dataset may also be named itself."""
    given = get.of("reads", Mapping, 'a dict, such as {"orders": "within"}')
    found: dict[str, str] = {}
    for key, text in given.items():
        name = getattr(key, "__name__", key)
        fitting = [
            each
            for each in map(str, named)
            if each == name or (each in known and name in known[each].outputs)
        ]
        if not fitting:
            raise get.wrong("reads", f"names {quoted(str(name))}, which is not in dataset_pipeline")
        if not isinstance(text, str):
            raise get.wrong("reads", f"holds {quoted(repr(text))}, which is not a mapping such as within")
        found[fitting[0]] = text
    return found


def _view_input(
    get: Attributes, name: Any, known: Mapping[str, Definition], timing: Timing, mapping: str = ""
) -> JobInput:
    """The newest version of a dataset pipeline that covers the interval; of others, that of the interval.

    Or what the mapping of the attribute `reads` names.
    """
    if not isinstance(name, str) or name not in known:
        hint = did_you_mean(str(name), list(known))
        raise get.wrong("dataset_pipeline", f"names the unknown pipeline {quoted(str(name))}.{hint}")
    producer = known[name]
    if mapping:
        return _mapped_input(get, name, producer, mapping)
    if producer.kind == DATASET:
        return JobInput(producer.dataset, LATEST)
    outputs = producer.outputs
    if name not in outputs and len(outputs) != 1:
        raise get.wrong(
            "dataset_pipeline", f"is {name}, which writes {' and '.join(outputs)}. Name one of them"
        )
    own, other = ((each.schedule, each.timezone) for each in (timing, producer.timing))
    if own != other:
        raise get.wrong(
            "dataset_pipeline",
            f"is {name}, which is read interval by interval, but the schedules differ: this one has "
            f"{' in '.join(own)}, {producer.job} {' in '.join(other) if other[0] else 'no schedule'} "
            f"({producer.place}). Give both the same schedule and timezone",
        )
    return JobInput(name if name in outputs else outputs[0], SAME)


def _mapped_input(get: Attributes, name: str, producer: Definition, text: str) -> JobInput:
    """An input with a mapping of its own; each chunk must be its own rows."""
    dataset = name if name in producer.outputs else producer.outputs[0]
    with get.saying("reads"):
        found = parse_input(f"{dataset}:{text}")
    if word_of(found.mapping) in SEVERAL_WORDS and producer.mode != "partition":
        raise get.wrong(
            "reads",
            f"reads {found}, but each chunk of {dataset} is the whole table as of then. Set mode = "
            f'"partition" in {producer.job} ({producer.place}), or read the newest: remove it from reads',
        )
    return found
