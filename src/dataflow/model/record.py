"""Frozen records with slots, at less than a tenth of the start-up cost of dataclasses.

Every RunJob creates about thirty such classes; with dataclasses they would take a third of its start-up.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar, dataclass_transform

    Kind = TypeVar("Kind", bound=type)
    Instance = TypeVar("Instance")
else:

    def dataclass_transform(**_options):
        return lambda function: function


_set = object.__setattr__
_FEW = 10
"""Instances of a class that are made without an __init__ of its own, which takes longer to compile."""
_made: dict[type, int] = {}


@dataclass_transform(frozen_default=True)
def record(kind: Kind) -> Kind:
    """Make a class of annotated fields a frozen record: equal and hashable by value, no other attributes.

    Fields that `_hidden` lists are left out of its repr.
    """
    names = tuple(kind.__annotations__)
    body = {key: value for key, value in kind.__dict__.items() if key not in ("__dict__", "__weakref__")}
    body["_defaults"] = {name: body.pop(name) for name in names if name in body}
    body["_names"] = body["__match_args__"] = body["__slots__"] = names
    body |= {"__init__": _first_init, "__setattr__": _refuse, "__delattr__": _refuse}
    body |= {"__eq__": _equal, "__hash__": _hash}
    body.setdefault("__reduce__", _reduce)
    body.setdefault("__repr__", _text)
    return type(kind)(kind.__name__, kind.__bases__, body)


def names_of(instance: object) -> tuple[str, ...]:
    """Return the names of a record's fields, in order."""
    names: tuple[str, ...] = type(instance)._names  # type: ignore[attr-defined]
    return names


def as_dict(instance: object) -> dict[str, Any]:
    """Return the fields of a record by name, in order."""
    return {name: getattr(instance, name) for name in names_of(instance)}


def pick(instance: object, *names: str) -> dict[str, Any]:
    """Return these attributes of a record by name."""
    return {str(name): getattr(instance, name) for name in names}


def as_tree(value: Any) -> Any:
    """Return a record as JSON carries it: records inside it as objects, too, and tuples as lists."""
    if hasattr(type(value), "_names"):
        return {name: as_tree(item) for name, item in as_dict(value).items()}
    if isinstance(value, dict):
        return {str(name): as_tree(item) for name, item in value.items()}
    return [as_tree(item) for item in value] if isinstance(value, list | tuple) else value


def replace(instance: Instance, /, **changes: Any) -> Instance:
    """Return a copy of a record with some fields changed."""
    kind: Any = type(instance)
    made: Instance = kind(**(as_dict(instance) | changes))
    return made


def _first_init(self: Any, /, *values: Any, **named: Any) -> None:
    """Set the fields of one of a class's first instances; generate the class's __init__ for the others."""
    kind = type(self)
    made = _made[kind] = _made.get(kind, 0) + 1
    if made > _FEW or not _set_fields(self, values, named):
        kind.__init__ = _make_init(kind)
        kind.__init__(self, *values, **named)  # of wrong arguments, it says what is wrong


def _set_fields(self: Any, values: tuple[Any, ...], named: dict[str, Any]) -> bool:
    """Set the fields; False if the arguments are not exactly those of the class."""
    names = self._names
    fields = self._defaults | dict(zip(names, values, strict=False)) | named
    if (
        len(values) > len(names)
        or len(fields) > len(names)
        or not named.keys().isdisjoint(names[: len(values)])
    ):
        return False
    try:
        for name in names:
            _set(self, name, fields[name])
    except KeyError:
        return False
    return True


def _make_init(kind: Any) -> Any:
    scope = {"_set": _set, **{f"_default_{name}": value for name, value in kind._defaults.items()}}
    arguments = [f"{name}=_default_{name}" if name in kind._defaults else name for name in kind._names]
    lines = [f" _set(self, '{name}', {name})" for name in kind._names] or [" pass"]
    exec(f"def __init__(self, {', '.join(arguments)}):\n" + "\n".join(lines), scope)
    return scope["__init__"]


def _values(self: Any) -> tuple[Any, ...]:
    return tuple([getattr(self, name) for name in self._names])


def _equal(self: Any, other: object) -> bool:
    return type(other) is type(self) and _values(self) == _values(other)


def _hash(self: Any) -> int:
    return hash(_values(self))


def _reduce(self: Any) -> tuple[Any, ...]:
    return type(self), _values(self)


def _text(self: Any) -> str:
    hidden = getattr(type(self), "_hidden", ())
    shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in self._names if name not in hidden)
    return f"{type(self).__name__}({shown})"


def _refuse(self: Any, name: str, *_: object) -> None:
    raise AttributeError(f"{type(self).__name__}.{name} cannot be changed")
