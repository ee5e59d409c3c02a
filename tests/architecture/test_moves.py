"""Every UPDATE of work.state makes the moves that model/status.MOVES lists, and no other."""

from __future__ import annotations

import ast
import re
from itertools import product
from pathlib import Path

import pytest

from dataflow.actions.interventions import STATES
from dataflow.model.record import record
from dataflow.model.status import FINAL, MOVES, WorkState

STORE = Path(__file__).resolve().parents[2] / "src" / "dataflow" / "store"

Pairs = set[tuple[WorkState, WorkState]]
Moves = dict[str, tuple[frozenset[WorkState], frozenset[WorkState]]]
ALL = frozenset(WorkState)
UNCLAIMED = ALL - {WorkState.RUNNING}
FAILED = frozenset({WorkState.FAILED})


@record
class Making:
    """A query that makes a move; what the code gives its parameters `:state` and `:from_state`."""

    query: str
    move: str
    state: frozenset[WorkState] = frozenset()
    from_state: frozenset[WorkState] = frozenset()
    resubmitted: bool = False


MAKINGS = [
    Making("claim.take", "claim", frozenset({WorkState.CLAIMABLE})),
    Making("claim.take", "force", UNCLAIMED),
    Making("claim.free_work", "free"),
    Making("claim.promote", "promote"),
    Making("operate.acknowledge_work", "promote"),
    Making("operate.revoke_work", "cancel", FAILED),
    Making("operate.revoke_work", "mark", FINAL),
    Making("operate.mark", "mark", FINAL, UNCLAIMED),
    Making("finish.work_done", "finish"),
    Making("finish.work_outdated", "finish"),
    Making("finish.work_failed", "finish"),
    Making("finish.work_ended", "finish", frozenset({WorkState.FAILED, WorkState.INVALID})),
    Making("finish.work_returned", "finish"),
    Making("publish.arrive", "arrive"),
    Making("several.promote", "arrive"),
    Making("publish.depart", "depart"),
    Making("registration.reset_work", "depart"),
    Making("publish.do_again", "resubmit", resubmitted=True),
    Making("publish.do_again", "renew"),
    Making("change.settle", "accept"),
    Making("change.settle_followers", "accept"),
]


def read_queries() -> dict[str, str]:
    """The SQL of every query that sets the state of work, without comments, on one line."""
    found = {}
    for path in sorted((STORE / "sql").glob("*.sql")):
        for section in path.read_text().split("-- name: ")[1:]:
            heading, _, sql = section.partition("\n")
            text = " ".join(re.sub(r"--.*", "", sql).split())
            if re.search(r"\bUPDATE work\b", text) and "state" in split_update(text)[0]:
                found[f"{path.stem}.{heading.split()[0]}"] = text
    return found


def split_update(sql: str) -> tuple[dict[str, str], str]:
    """The assignments of an UPDATE of work by column, and its condition."""
    text = sql[sql.index("UPDATE work") :]
    text = text[text.index(" SET ") + 5 :]
    assignments, _, rest = cut(text, r" FROM | WHERE | RETURNING ")
    condition = cut(rest if rest.startswith("WHERE") else cut(rest, " WHERE ")[2], " RETURNING ")[0]
    parts = [part.partition("=") for part in split_top(assignments)]
    return {name.strip(): value.strip() for name, _, value in parts}, condition


def cut(text: str, pattern: str) -> tuple[str, str, str]:
    """Text before the first match outside parentheses, the match, and the match with what follows."""
    for match in re.finditer(pattern, text):
        before = text[: match.start()]
        if before.count("(") == before.count(")"):
            return before, match[0], text[match.start() :].strip()
    return text, "", ""


def split_top(text: str) -> list[str]:
    """The parts between the commas outside parentheses."""
    parts, depth = [""], 0
    for character in text:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def without_subqueries(text: str) -> str:
    """The text without its parenthesised SELECTs."""
    while "(SELECT" in text:
        start = text.index("(SELECT")
        depth, end = 0, start
        for end in range(start, len(text)):
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            if not depth:
                break
        text = text[:start] + text[end + 1 :]
    return text


def list_states(condition: str, bound: dict[str, frozenset[WorkState]]) -> frozenset[WorkState]:
    """The states that a condition lets through."""
    found = ALL
    for operator, value in re.findall(r"\bstate (=|<>|IN) ('\w+'|:\w+|\([^)]*\))", condition):
        named = bound[value[1:]] if value[0] == ":" else frozenset(map(WorkState, re.findall(r"\w+", value)))
        found &= ALL - named if operator == "<>" else named
    return found


def list_pairs(sql: str, making: Making) -> Pairs:
    """The moves that an UPDATE can make, from which state to which."""
    assignments, condition = split_update(sql)
    again = r"\(:resubmitted OR (state IN \([^)]*\))\)"
    condition = re.sub(again, "TRUE" if making.resubmitted else r"\1", without_subqueries(condition))
    # In a guard `:state` is what was found; where the state is set, it is what is wanted.
    is_set = assignments["state"] == ":state"
    bound = {"from_state": making.from_state} | ({} if is_set else {"state": making.state})
    sources = list_states(condition, bound)
    target = assignments["state"]
    if is_set:
        return set(product(sources, making.state))
    if not target.startswith("CASE"):
        return set(product(sources, [WorkState(target.strip("'"))]))
    pairs: Pairs = set()
    for when, reached in re.findall(r"(WHEN .*?THEN|ELSE) ('\w+'|state)", target):
        if reached != "state":
            pairs |= set(product(sources & list_states(when, {}), [WorkState(reached.strip("'"))]))
    return {(before, after) for before, after in pairs if before is not after}


def find_offences(queries: dict[str, str], moves: Moves) -> list[str]:
    """What the queries do and MOVES does not list, and the other way round."""
    makings = {making.query for making in MAKINGS}
    found = [f"{query} makes no move" for query in queries.keys() - makings]
    found += [f"{query} is gone" for query in makings - queries.keys()]
    made: dict[str, Pairs] = {}
    for making in MAKINGS:
        if making.query not in queries:
            continue
        pairs = list_pairs(queries[making.query], making)
        made.setdefault(making.move, set()).update(pairs)
        legal = set(product(*moves[making.move]))
        found += [f"{making.query} moves {a} to {b}" for a, b in pairs - legal if a is not b]
    for move, (before, after) in moves.items():
        missing = {pair for pair in product(before, after) if pair[0] is not pair[1]} - made.get(move, set())
        found += [f"no query does {move} from {a} to {b}" for a, b in missing]
    return sorted(found)


def read_calls(module: str) -> list[ast.Call]:
    tree = ast.parse((STORE / module).read_text())
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call)]


def test_the_queries_make_exactly_the_listed_moves() -> None:
    assert find_offences(read_queries(), MOVES) == []


def test_every_query_that_sets_a_state_is_used() -> None:
    text = "".join(path.read_text() for path in STORE.glob("*.py"))
    assert [query for query in read_queries() if f'"{query}"' not in text] == []


def test_what_the_code_gives_the_queries_is_what_the_moves_say() -> None:
    assert frozenset(STATES.values()) == MOVES["mark"][1]
    revoking = [call for call in read_calls("operator_moves.py") if ast.unparse(call.func) == "_revoke"]
    given = {ast.unparse(call.args[2]) for call in revoking}
    assert given == {"WorkState.FAILED", "state"}, "cancel, and mark"
    # The guards of what is bound: a final outcome ends work, and only CLAIMABLE work is claimed.
    ending = (
        'elif outcome in (RunOutcome.FAILED, RunOutcome.INVALID):\n        row = tx.find("finish.work_ended"'
    )
    assert ending in (STORE / "outcomes.py").read_text()
    claims = (STORE / "claims.py").read_text()
    assert claims.count("found[4] != WorkState.CLAIMABLE") == 2
    assert "state = 'CLAIMABLE'" in (STORE / "sql" / "claim.sql").read_text().split("-- name: next_work\n")[1]


MUTATIONS = [
    ("claim.free_work", "AND state = 'RUNNING'", "", "claim.free_work moves DONE to FAILED"),
    ("publish.arrive", "state = 'WAITING'", "state <> 'RUNNING'", "publish.arrive moves DONE to CLAIMABLE"),
    ("publish.do_again", "state <> 'RUNNING' AND", "", "publish.do_again moves RUNNING to CLAIMABLE"),
    ("publish.do_again", ", 'INVALID'", "", "no query does renew from INVALID to WAITING"),
    ("finish.work_done", "'DONE'", "'FAILED'", "no query does finish from RUNNING to DONE"),
    ("claim.take", "'RUNNING'", "'DONE'", "claim.take moves CLAIMABLE to DONE"),
    ("registration.reset_work", "'CLAIMABLE'", "'FAILED'", "registration.reset_work moves FAILED to WAITING"),
]


@pytest.mark.parametrize(("query", "old", "new", "offence"), MUTATIONS)
def test_a_query_that_makes_another_move_is_noticed(query: str, old: str, new: str, offence: str) -> None:
    queries = read_queries()
    assert old in queries[query]
    assert offence in find_offences(queries | {query: queries[query].replace(old, new)}, MOVES)


def test_a_move_that_no_query_makes_is_noticed() -> None:
    moves = MOVES | {"depart": (frozenset({WorkState.CLAIMABLE}), frozenset({WorkState.FAILED}))}
    found = find_offences(read_queries(), moves)
    assert "no query does depart from CLAIMABLE to FAILED" in found
    assert "publish.depart moves CLAIMABLE to WAITING" in found


def test_an_unlisted_query_is_noticed() -> None:
    queries = read_queries() | {"publish.other": "UPDATE work SET state = 'DONE' WHERE work_id = 1"}
    assert find_offences(queries, MOVES) == ["publish.other makes no move"]
