"""Decoders that take only a few values out of a JSON document and skip the rest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict

import msgspec

from dataflow.pipelines.shape.json_text import BOM


class Outline:
    """The values of some dotted keys, each of a given type; the empty key is the whole document."""

    def __init__(self, kinds: Mapping[str, Any]) -> None:
        """No key may lie inside another."""
        paths = {tuple(dotted.split(".")) if dotted else (): kind for dotted, kind in kinds.items()}
        self._decoder = msgspec.json.Decoder(_type_of(paths))

    def decode(self, body: bytes) -> Any:
        """The document with only these keys; None if it is not JSON, or a value is of another type.

        Keys may be missing. Skipped text is checked, but not for being UTF-8.
        """
        try:
            return self._decoder.decode(body.removeprefix(BOM))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None


def _type_of(paths: dict[tuple[str, ...], Any]) -> Any:
    if () in paths:
        return paths[()]
    keys = dict.fromkeys(path[0] for path in paths)
    fields = {
        key: _type_of({path[1:]: kind for path, kind in paths.items() if path[0] == key}) for key in keys
    }
    return TypedDict("Part", fields, total=False)  # type: ignore[operator]  # its keys are not known before
