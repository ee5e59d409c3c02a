"""Generates the tables of supported and refused SQL in docs/sql.md from the tests against PostgreSQL.

`python -m tests.docs.sql_table` writes them into the page.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from sqlglot import exp

from dataflow.errors import BadInput
from dataflow.pipelines.sql.parsing import read_statement
from dataflow.pipelines.sql.translation import translate
from tests.docs.pages import DOCS
from tests.pipelines.sql import test_refusals as refusals
from tests.pipelines.sql.same import EXPRESSIONS, QUERIES

PAGE = DOCS / "sql.md"
SUPPORTED, REFUSED = "supported", "refused"
MOST_EXAMPLES = 3

# The SQL names of functions that have their own class in the parser.
_SYNTAX: dict[type[exp.Expr], str] = {
    exp.Extract: "extract",
    exp.Trim: "trim",
    exp.Substring: "substring",
    exp.StrPosition: "position",
    exp.Overlay: "overlay",
    exp.GroupConcat: "string_agg",
    exp.Unnest: "unnest",
    exp.CurrentDate: "current_date",
    exp.CurrentTimestamp: "current_timestamp",
    exp.Localtimestamp: "localtimestamp",
}
_NO_FUNCTIONS = ("any", "all", "some", "row")

# Names of constructs, and patterns that match them in lower case, without string literals.
_IN_EXPRESSIONS = {
    "`CASE`": r"\bcase\b",
    "`IN (…)`": r"\bin \((?!select)",
    "`IN (subquery)` in WHERE": r"\bin \(select\b",
    "`EXISTS`": r"\bexists ?\(",
    "scalar subqueries": r"(?<!exists)(?<!lateral )(?<!in )(?<!any)[(=] ?\(select\b",
    "`= ANY (array)`": r"= ?any ?\((?!select)",
    "`= ANY (subquery)`": r"= ?any ?\(select\b",
    "`<> ALL (array)`": r"<> ?all ?\(",
    "`BETWEEN`": r"\bbetween\b(?! symmetric| \d| unbounded)",
    "`BETWEEN SYMMETRIC`": r"\bbetween symmetric\b",
    "`IS NULL`": r"\bis (not )?null\b",
    "`IS TRUE`, `IS FALSE`, `IS UNKNOWN`": r"\bis (not )?(true|false|unknown)\b",
    "`IS DISTINCT FROM`": r"\bis (not )?distinct from\b",
    "`LIKE`": r"\blike\b",
    "`ILIKE`": r"\bilike\b",
    "`ESCAPE`": r"\bescape\b",
    "`SIMILAR TO`": r"\bsimilar to\b",
    "`AT TIME ZONE`": r"\bat time zone\b",
    '`COLLATE "C"`': r"\bcollate\b",
    "row comparisons": r"\) ?(<|=|in|>|>=|<=) ?(row)?\((\(|'|\d+, ?')",
    "`ARRAY[…]`": r"\barray\[",
    "`a[1]`": r"\w\[-?\w+\]",
    "`a[1:2]`": r"\w\[\d*:\d*\]",
    "`interval '…'`": r"\binterval '",
    "`date '…'`, `timestamp '…'`": r"\b(date|timestamp(tz)?) '",
    "`$$…$$`": r"\$\$",
}
_IN_QUERIES = {
    "`WITH`": r"^with\b",
    "`JOIN`": r"(?<!left )(?<!right )(?<!full )(?<!cross )(?<!natural )\bjoin\b",
    "`LEFT JOIN`": r"\bleft join\b",
    "`RIGHT JOIN`": r"\bright join\b",
    "`FULL JOIN`": r"\bfull join\b",
    "`CROSS JOIN`": r"\bcross join\b",
    "`NATURAL JOIN`": r"\bnatural join\b",
    "`USING`": r"\busing \(",
    "`LATERAL`": r"\blateral\b",
    "`WITH ORDINALITY`": r"\bwith ordinality\b",
    "`VALUES`": r"\bvalues\b",
    "set-returning functions in SELECT and FROM": r"\bunnest\(",
    "`GROUP BY`": r"\bgroup by (?!grouping|rollup|cube)",
    "`GROUPING SETS`": r"\bgrouping sets\b",
    "`ROLLUP`": r"\brollup\b",
    "`CUBE`": r"\bcube\b",
    "`HAVING`": r"\bhaving\b",
    "`FILTER`": r"\bfilter \(where\b",
    "`WITHIN GROUP`": r"\bwithin group\b",
    "`DISTINCT` in aggregates": r"\(distinct\b",
    "`ORDER BY` in aggregates": r"(?<!over )\w\([^()]* order by\b",
    "`OVER`": r"\bover\b",
    "`WINDOW w AS`": r"\bwindow \w+ as\b",
    "`ROWS` and `RANGE` frames": r"\b(rows|range) (between|unbounded|\d)",
    "`UNION`": r"\bunion (?!all)",
    "`UNION ALL`": r"\bunion all\b",
    "`INTERSECT`": r"\bintersect\b",
    "`EXCEPT`": r"\bexcept\b",
    "`DISTINCT`": r"\bselect distinct (?!on)",
    "`DISTINCT ON`": r"\bdistinct on\b",
    "`ORDER BY`": r"\border by\b",
    "`NULLS FIRST`, `NULLS LAST`": r"\bnulls (first|last)\b",
    "`LIMIT`": r"\blimit\b",
    "`OFFSET`": r"\boffset\b",
}
# Parts of a message that are specific to the example, and their replacements in the table.
_OF_THE_EXAMPLE = {
    r'^"(?:[^"\\]|\\.)*"(?:… \(\d+ characters\))? ': "",
    r"^(?:\d\w*|INTERVAL '[^']*'[A-Z ]*) (?=is )": "",
    r"^column '\w+' ": "a column ",
    r"is called \w+,": "has a name",
    r"there are \d+$": "there are fewer",
}
_OPERATOR = re.compile(r"[-+*/<>=~!@#%^&|?]+")
_STAR = re.compile(r"(?<=[(.])\*|(?<=select )\*|(?<=distinct )\*")
_TYPE = re.compile(r"::\s*(double precision|timestamp with time zone|[a-z][a-z0-9]*)(\([\d, ]+\))?(\[\])?")


def build_supported() -> str:
    """The table of supported SQL: functions by area, operators, casts and constructs."""
    lines = {area: text.strip().splitlines() for area, text in EXPRESSIONS.items()}
    lines |= {"queries": QUERIES.strip().splitlines()}
    rows = [(f"functions: {area}", _spans(names)) for area, names in _functions(lines).items()]
    everything = [line for each in lines.values() for line in each]
    rows += [
        ("operators", _spans({sign for line in everything for sign in _operators(line)})),
        ("casts to", _spans({name for line in everything for name in _types(line)})),
        ("in expressions", _constructs(_IN_EXPRESSIONS, everything)),
        ("in queries", _constructs(_IN_QUERIES, everything)),
    ]
    table = [f"| {area} | {', '.join(names)} |" for area, names in rows if names]
    return "\n".join(["| area | supported |", "|---|---|", *table])


def build_refused() -> str:
    """The table of refused SQL, built from the messages; examples with the same reason share a row."""
    reasons: dict[str, list[str]] = {}
    for construct in _list_refused():
        reasons.setdefault(_reason(construct), []).append(construct)
    rows = [
        f"| {', '.join(_shortest(each))} | {reason} |"
        for reason, each in reasons.items()
        if "PostgreSQL" not in reason  # PostgreSQL refuses it too
    ]
    return "\n".join(["| for example | reason, and what to write instead |", "|---|---|", *rows])


def write_tables(page: str) -> str:
    """Return the page with both tables regenerated."""
    for name, table in ((SUPPORTED, build_supported()), (REFUSED, build_refused())):
        begin, end = f"<!-- {name}: made by python -m tests.docs.sql_table -->", f"<!-- end of {name} -->"
        before, _, rest = page.partition(begin)
        _, found, after = rest.partition(end)
        assert found, f"{PAGE.name} has no part between {begin} and {end}"
        page = f"{before}{begin}\n\n{table}\n\n{end}{after}"
    return page


def _functions(lines: dict[str, list[str]]) -> dict[str, list[str]]:
    """Functions by area; a function that several areas use is listed in the one that uses it most."""
    counts: dict[str, Counter[str]] = {}
    for area, each in lines.items():
        for line in each:
            for name in set(_calls(line)):
                counts.setdefault(name, Counter())[area] += 1
    home = {name: areas.most_common(1)[0][0] for name, areas in counts.items()}
    return {area: [name for name in home if home[name] == area] for area in lines}


def _calls(line: str) -> Iterator[str]:
    for node in read_statement(_as_query(line), "postgres", "query").walk():
        if isinstance(node, exp.Anonymous) and node.name.lower() not in _NO_FUNCTIONS:
            yield node.name.lower()
        if type(node) in _SYNTAX:
            yield _SYNTAX[type(node)]


def _as_query(line: str) -> str:
    return line if re.match(r"(select|with|values)\b", line) else f"select {line} from orders"


def _operators(line: str) -> Iterator[str]:
    for found in _OPERATOR.finditer(_STAR.sub("", _without_texts(line))):
        sign = found[0]
        # As PostgreSQL reads them: `=-` is two operators, `@-` is one.
        while len(sign) > 1 and sign[-1] in "+-" and not re.search(r"[~!@#%^&|?]", sign):
            yield sign[-1]
            sign = sign[:-1]
        yield sign


def _types(line: str) -> Iterator[str]:
    for found in _TYPE.finditer(_without_texts(line)):
        arguments = re.sub(r"\d+", "n", found[2] or "").replace("n,n", "p,s").replace(" ", "")
        yield f"{found[1]}{arguments}{found[3] or ''}"


def _constructs(known: dict[str, str], lines: Iterable[str]) -> list[str]:
    texts = [_without_texts(line).lower() for line in lines]
    return [name for name, pattern in known.items() if any(re.search(pattern, text) for text in texts)]


def _without_texts(line: str) -> str:
    return re.sub(r"\$\$.*?\$\$", "$$$$", re.sub(r"'(?:[^']|'')*'", "''", line))


def _list_refused() -> Iterator[str]:
    for name, test in vars(refusals).items():
        if re.fullmatch(r"test_a_\w+_is_refused", name):
            for mark in test.pytestmark:
                yield from mark.args[1]


def _reason(construct: str) -> str:
    """Why it is refused, as the message says it."""
    try:
        translate(_as_query(construct), "postgres", refusals.WITH_JSON)
    except BadInput as error:
        message = str(error).removeprefix("query: ")
    else:
        raise AssertionError(f"not refused: {construct}")
    message = message.partition(" Rewrite it, or ")[0].rstrip(".")
    for pattern, instead in _OF_THE_EXAMPLE.items():
        message = re.sub(pattern, instead, message)
    return message.replace("|", "\\|")


def _shortest(examples: list[str]) -> list[str]:
    chosen = sorted(examples, key=len)[:MOST_EXAMPLES]
    return [_span(each) for each in chosen] + ["…"] * (len(examples) > MOST_EXAMPLES)


def _spans(names: Iterable[str]) -> list[str]:
    return [_span(name) for name in sorted(names)]


def _span(code: str) -> str:
    escaped = code.replace("|", "\\|")
    return f"`` {escaped} ``" if "`" in code else f"`{escaped}`"


if __name__ == "__main__":
    PAGE.write_text(write_tables(PAGE.read_text()))
