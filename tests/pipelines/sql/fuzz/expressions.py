"""Random expressions of a given type, nested as a person might nest them."""

from __future__ import annotations

from random import Random

from tests.pipelines.sql.fuzz.templates import CONSTANTS, TEMPLATES


class Expressions:
    """Generates expressions over columns; `columns` lists the names by family."""

    def __init__(self, random: Random, columns: dict[str, list[str]]) -> None:
        self.random = random
        self.columns = columns

    def make(self, family: str, depth: int) -> str:
        """Generate an expression of that family, nested at most `depth` levels deep."""
        if depth <= 0 or self.random.random() < 0.15:
            return self._leaf(family)
        if self.random.random() < 0.12:
            return self._conditional(family, depth)
        found = self.fill(self.random.choice(TEMPLATES[family]), depth)
        return found if found.startswith("(") or found.endswith(")") else f"({found})"

    def condition(self, depth: int) -> str:
        """Generate a condition, nested at most `depth` levels deep."""
        return self.make("boolean", depth)

    def fill(self, template: str, depth: int) -> str:
        """Fill in a template: make its choices and generate its operands, one level less deep."""
        found = ""
        position = 0
        while position < len(template):
            sign = template[position]
            end = template.find("}", position)
            if sign == "{" and template[position + 1 : end] in TEMPLATES:
                found += self.make(template[position + 1 : end], depth - 1)
                position = end + 1
            elif sign == "⟨":
                end = template.index("⟩", position)
                found += self.random.choice(template[position + 1 : end].split("¦"))
                position = end + 1
            else:
                found += sign
                position += 1
        return found

    def _leaf(self, family: str) -> str:
        names = self.columns.get(family, [])
        if names and self.random.random() < 0.75:
            return self.random.choice(names)
        return self.random.choice(CONSTANTS[family])

    def _conditional(self, family: str, depth: int) -> str:
        one, other = self.make(family, depth - 1), self.make(family, depth - 1)
        match self.random.randint(0, 4):
            case 0:
                return f"coalesce({one}, {other})"
            case 1:
                return f"case when {self.condition(depth - 1)} then {one} else {other} end"
            case 2:
                return f"case when {self.condition(depth - 1)} then {one} end"
            case 3 if family not in ("text[]", "integer[]", "jsonb"):
                return f"{self.random.choice(['greatest', 'least'])}({one}, {other})"
            case _:
                return f"nullif({one}, {other})"
