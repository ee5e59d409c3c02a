"""Registered things by name, read in batches on first use, never all at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

Item = TypeVar("Item")


class Registered(Mapping[str, Item]):
    """Datasets or jobs by name. Only iterating reads all names."""

    def __init__(
        self, read: Callable[[Sequence[str]], Mapping[str, Item]], list_names: Callable[[], Sequence[str]]
    ) -> None:
        self._read = read
        self._list_names = list_names
        self._found: dict[str, Item | None] = {}

    def load(self, names: Iterable[str]) -> None:
        """Read those that have not been read before, in one go."""
        wanted = [name for name in dict.fromkeys(names) if name not in self._found]
        if wanted:
            found = self._read(wanted)
            self._found.update({name: found.get(name) for name in wanted})

    def put(self, name: str, item: Item) -> None:
        """Set what the name stands for, whatever is in the store."""
        self._found[name] = item

    def __getitem__(self, name: str) -> Item:
        self.load([name])
        found = self._found[name]
        if found is None:
            raise KeyError(name)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._list_names())

    def __len__(self) -> int:
        return len(self._list_names())
