"""Random queries around random expressions; each has one result, whatever the order of rows."""

from __future__ import annotations

from random import Random

from tests.pipelines.sql.fuzz.expressions import Expressions
from tests.pipelines.sql.fuzz.templates import QUERIES

FACT_COLUMNS = {
    "smallint": ["small"],
    "integer": ["whole", "team", "id"],
    "bigint": ["large"],
    "numeric": ["price", "rate", "amount"],
    "real": ["single"],
    "double": ["ratio"],
    "text": ["title", "label::text", "title"],
    "boolean": ["paid"],
    "date": ["day"],
    "timestamptz": ["at"],
    "timestamp": ["local"],
    "text[]": ["tags"],
    "integer[]": ["counts"],
    "jsonb": ["doc"],
    "uuid": ["key"],
}
OUTPUTS = ["integer", "bigint", "numeric", "numeric", "double", "text", "text", "boolean", "date"]
OUTPUTS += ["timestamptz", "timestamp", "text[]", "integer[]", "jsonb", "smallint", "uuid"]
AGGREGATES = {
    "integer": ["count", "sum", "avg", "min", "max", "count distinct", "stddev", "var_pop"],
    "smallint": ["sum", "avg", "max"],
    "bigint": ["count", "min", "max"],
    "numeric": ["sum", "avg", "min", "max", "count", "count distinct"],
    "text": ["min", "max", "count", "count distinct", "string_agg"],
    "boolean": ["bool_and", "bool_or", "every", "count"],
    "date": ["min", "max", "count"],
    "timestamptz": ["min", "max"],
}
GROUPABLE = ["integer", "text", "boolean", "date", "numeric"]


class Queries:
    """Generates queries over `facts` and `teams`."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.facts = Expressions(self.random, FACT_COLUMNS)

    def make(self) -> str:
        """Generate one query."""
        shapes = [self._plain, self._plain, self._plain, self._grouped, self._grouped]
        shapes += [
            self._window,
            self._united,
            self._joined,
            self._nested,
            self._distinct,
            self._rows,
            self._sets,
        ]
        return self.random.choice(shapes)()

    def _depth(self) -> int:
        return self.random.choice([1, 1, 2, 2, 3])

    def _expression(self) -> str:
        return self.facts.make(self.random.choice(OUTPUTS), self._depth())

    def _where(self) -> str:
        return f" where {self.facts.condition(2)}" if self.random.random() < 0.5 else ""

    def _items(self, most: int = 3) -> str:
        found = []
        for number in range(self.random.randint(1, most)):
            alias = f" as c{number}" if self.random.random() < 0.6 else ""
            found.append(self._expression() + alias)
        return ", ".join(found)

    def _template(self, shape: str) -> str:
        template = self.random.choice(QUERIES[shape])
        return self.facts.fill(template.replace("{any}", self._expression()), 1 + self._depth())

    def _nested(self) -> str:
        return self._template("nested")

    def _rows(self) -> str:
        return self._template("rows")

    def _sets(self) -> str:
        return self._template("sets")

    def _plain(self) -> str:
        return f"select id as row_id, {self._items()} from facts{self._where()}"

    def _aggregate(self) -> str:
        family = self.random.choice(list(AGGREGATES))
        word = self.random.choice(AGGREGATES[family])
        value = self.facts.make(family, self.random.choice([0, 1, 1, 2]))
        tail = f" filter (where {self.facts.condition(1)})" if self.random.random() < 0.3 else ""
        if word == "count distinct":
            return f"count(distinct {value}){tail}"
        if word == "string_agg":
            return f"string_agg({value}, ',' order by {value}, id){tail}"
        return f"{word}({value}){tail}"

    def _grouped(self) -> str:
        listed = ", ".join(f"{self._aggregate()} as a{number}" for number in range(self.random.randint(1, 3)))
        if self.random.random() < 0.3:
            return f"select {listed} from facts{self._where()}"
        form = self.random.random()
        if form < 0.15:
            rows = f"facts{self._where()} group by rollup (team, paid)"
            return f"select team, paid, {listed}, grouping(team) from {rows}"
        if form < 0.25:
            return f"select team, paid, {listed} from facts group by grouping sets ((team), (paid), ())"
        key = self._group_key()
        having = f" having {self._aggregate_test()}" if self.random.random() < 0.3 else ""
        return f"select {key} as k, {listed} from facts{self._where()} group by {key}{having}"

    def _group_key(self) -> str:
        family = self.random.choice(GROUPABLE)
        key = self.random.choice(FACT_COLUMNS[family])
        if self.random.random() < 0.5:
            key = self.facts.make(family, 1)
        if not any(name in key for names in FACT_COLUMNS.values() for name in names):
            return "team"  # a constant, by which PostgreSQL does not group
        # Of equal numerics with different numbers of digits, PostgreSQL shows whichever it reads first.
        return f"round({key}, 1)" if "amount" in key or (family == "numeric" and "/" in key) else key

    def _aggregate_test(self) -> str:
        tests = ["count(*) > 2", "sum(price) > 10", "max(day) is not null", "avg(small) < 50"]
        return self.random.choice(tests)

    def _window(self) -> str:
        part = self.random.choice(["", "partition by team ", "partition by paid ", "partition by code "])
        order = f"order by {self.random.choice(['id', 'day, id', 'amount desc, id', 'title, id'])}"
        word, frame = self.random.choice([*QUERIES["windows"], *QUERIES["framed windows"]]), ""
        if word in QUERIES["framed windows"]:
            frames = ["", " rows between 2 preceding and current row", " rows unbounded preceding"]
            frame = self.random.choice(frames)
        window = f"({part}{order}{frame})"
        if self.random.random() < 0.3:
            return f"select id, {word} over w as v from facts window w as {window}"
        return f"select id, {word} over {window}, {self._expression()} as e from facts{self._where()}"

    def _united(self) -> str:
        family = other = self.random.choice(["integer", "numeric", "text", "date", "boolean", "bigint"])
        word = self.random.choice(["union all", "union all", "union", "intersect", "except"])
        if word == "union all" and family in ("integer", "bigint", "numeric"):
            other = self.random.choice(["integer", "numeric", "bigint"])
        # Which of two equal numbers with different digits is kept is undefined.
        wrap = "round({}, 2)" if word != "union all" and family == "numeric" else "{}"
        first, second = (wrap.format(self.facts.make(each, self._depth())) for each in (family, other))
        return f"select {first} as u from facts {word} select {second} from facts"

    def _joined(self) -> str:
        word = self.random.choice(["join", "left join", "full join", "right join", "cross join"])
        test = self.random.choice(QUERIES["joins"])
        if word == "full join" and ">" in test:
            test = "f.team = t.id"  # PostgreSQL has full joins by equality alone
        on = "" if word == "cross join" else f" on {test}"
        listed = ", ".join(self.random.sample(QUERIES["joined"], 3))
        return f"select {listed} from facts f {word} teams t{on}"

    def _distinct(self) -> str:
        family = self.random.choice(GROUPABLE)
        value = self.facts.make(family, self._depth())
        if family == "numeric":
            value = f"round({value}, 2)"
        if self.random.random() < 0.4:
            return f"select distinct on (team) team, id, {value} as v from facts order by team, id"
        return f"select distinct {value} as v from facts"
