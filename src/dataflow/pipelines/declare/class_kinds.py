"""Which classes of a project are pipelines, bases of others, or only look like a pipeline."""

from __future__ import annotations

from collections.abc import Iterable

KINDS = {"DatasetPipeline": "dataset", "ViewPipeline": "view"}
"""What a class is, by what its name contains."""

SIGNS = {
    "DatasetPipeline": ("field_mapping", "table_name", "source_url"),
    "ViewPipeline": ("view_name", "dataset_pipeline", "join_clause", "where_clause", "schedule_interval"),
}
"""Attributes that only a pipeline has."""

NEEDED = {"dataset": ("table_name", "field_mapping"), "view": ("view_name",)}
"""Attributes that every pipeline needs; a base class may leave them out."""


def kind_by_name(name: str) -> str:
    """`dataset` or `view`; "" for any other name."""
    return next((kind for word, kind in KINDS.items() if word in name), "")


def is_private(name: str) -> bool:
    """True for a class that is never a pipeline: `_Base`, or one named like our bases."""
    return name in KINDS or name.startswith("_")


def is_base(kind: str, thing: type, bases: set[type]) -> bool:
    """True if others derive from a class and it lacks attributes that a pipeline needs."""
    return thing in bases and not all(hasattr(thing, name) for name in NEEDED[kind])


def find_name(thing: type) -> str:
    """The name that would make a class the pipeline it looks like; "" if it does not look like one."""
    attributes = [name for base in thing.__mro__ for name in vars(base)]
    word = word_for([base.__name__ for base in thing.__mro__[1:]], attributes)
    return thing.__name__ + word if word else ""


def word_for(bases: Iterable[str], attributes: Iterable[str]) -> str:
    """`DatasetPipeline` or `ViewPipeline`, by the names of a class and its bases, or else by attributes."""
    given = set(attributes)
    named = [word for base in bases for word in KINDS if word in base]
    return next(iter(named + [word for word, signs in SIGNS.items() if given.intersection(signs)]), "")
