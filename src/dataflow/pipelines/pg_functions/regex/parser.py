"""Parses a pattern into a tree of the parts that must be distinguished in a match."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from dataflow.pipelines.pg_functions.letters import CodePoints, complement, from_ranges, get_class
from dataflow.pipelines.pg_functions.regex import parts
from dataflow.pipelines.pg_functions.regex.brackets import character_set, class_set, read_bracket
from dataflow.pipelines.pg_functions.regex.flags import Flag
from dataflow.pipelines.pg_functions.regex.tokens import (
    BAD_BOUND,
    BAD_OPERAND,
    Kind,
    Quantifier,
    Tokens,
    refuse,
)

BAD_PARENTHESES = "parentheses () not balanced"
BAD_REFERENCE = "invalid backreference number"
MOST_REPEATS = 255
NEWLINE = from_ranges([(10, 10)])
ANYTHING: CodePoints = complement(())
ENDS_OF_BRANCH = (Kind.BAR, Kind.STOP)


class Syntax(NamedTuple):
    """A parsed pattern."""

    root: parts.Node
    groups: int
    has_back_reference: bool
    ignores_case: bool


class _Atom(NamedTuple):
    expression: parts.Expression
    node: parts.Node | None = None
    must_split: bool = False  # it captures or refers to a group, so its bounds matter


ONCE = Quantifier(1, 1, parts.Trait.NONE)


def read_pattern(pattern: str, flags: Flag) -> Syntax:
    """Parse a whole pattern."""
    if flags & Flag.QUOTE and flags & (Flag.ADVANCED | Flag.EXPANDED | Flag.NEWLINE):
        refuse("invalid argument to regex function")
    parser = _Parser(Tokens(pattern, flags))
    root = parser.read_choice(Kind.STOP, False)
    tokens = parser.tokens
    return Syntax(root, tokens.groups, tokens.has_back_reference, bool(tokens.flags & Flag.IGNORE_CASE))


# Whether there is a word character before and after the position.
WORD_EDGES = {
    Kind.WORD_START: ((False, True),),
    Kind.WORD_END: ((True, False),),
    Kind.WORD_EDGE: ((False, True), (True, False)),
    Kind.NOT_WORD_EDGE: ((False, False), (True, True)),
}


@cache
def _find_constraint(kind: Kind) -> parts.Expression | None:
    """The constraint that a token names; None if it names none."""
    if kind in (Kind.LINE_START, Kind.TEXT_START):
        return parts.START
    if kind in (Kind.LINE_END, Kind.TEXT_END):
        return parts.END
    word = parts.Characters(get_class("word"))
    edges = tuple(
        parts.Sequence((parts.look_around(word, False, before), parts.look_around(word, True, after)))
        for before, after in WORD_EDGES.get(kind, ())
    )
    return parts.Choice(edges) if edges else None


class _Parser:
    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens
        self.captured: dict[int, parts.Node] = {}

    def read_choice(self, stop: Kind, in_look: bool) -> parts.Node:
        branches = [self._read_branch(stop, in_look)]
        while self.tokens.kind is Kind.BAR:
            self.tokens.advance()
            branches.append(self._read_branch(stop, in_look))
        if self.tokens.kind is not stop:
            refuse(BAD_PARENTHESES)
        if len(branches) == 1:
            return branches[0]
        traits = parts.Trait.LONGER
        for branch in branches:
            traits |= parts.inherit(traits | branch.traits)
        expression = parts.Choice(tuple(branch.expression for branch in branches))
        if not parts.is_complex(traits):
            return parts.Node(parts.Shape.WHOLE, traits, expression)
        return parts.Node(parts.Shape.CHOICE, traits, expression, branches)

    def _is_end(self, stop: Kind) -> bool:
        return self.tokens.kind in ENDS_OF_BRANCH or self.tokens.kind is stop

    def _read_branch(self, stop: Kind, in_look: bool) -> parts.Node:
        items: list[parts.Expression] = []  # those that need not be split
        before = parts.Trait.NONE
        while not self._is_end(stop):
            constraint = self._read_constraint()
            if constraint is not None:
                items.append(constraint)
                continue
            atom = self._read_atom(in_look)
            count = self._read_count()
            if count.most == 0:
                items.append(parts.EMPTY)
                continue
            traits = before | count.preference | (atom.node.traits if atom.node else parts.Trait.NONE)
            if atom.must_split or parts.is_complex(parts.inherit(traits)):
                prefix = parts.Node(parts.Shape.WHOLE, before, parts.in_sequence(*items)) if items else None
                return self._split_branch(prefix, _repeat_node(atom, count), (stop, in_look))
            items.append(parts.repeat(atom.expression, count.least, count.most))
            before = traits
        return parts.Node(parts.Shape.WHOLE, before, parts.in_sequence(*items))

    def _split_branch(self, prefix: parts.Node | None, item: _Item, context: tuple[Kind, bool]) -> parts.Node:
        before = parts.Trait.NONE if prefix is None else prefix.traits
        if self._is_end(context[0]):
            if prefix is None:
                return item.node
            return _pair(before | parts.combine(before, item.node.traits), prefix, item.node)
        rest = self._read_branch(*context)
        traits = item.traits | parts.combine(item.traits, rest.traits)
        whole = before | parts.combine(before, traits)
        if prefix is None:
            return _pair(whole, item.node, rest)
        both = _pair(traits, item.node, rest)
        is_plain = item.node.shape is rest.shape is parts.Shape.WHOLE
        if is_plain and not parts.is_complex(parts.inherit(item.node.traits | rest.traits)):
            both = parts.Node(
                parts.Shape.WHOLE, parts.combine(item.node.traits, rest.traits), both.expression
            )
        return _pair(whole, prefix, both)

    def _read_constraint(self) -> parts.Expression | None:
        tokens = self.tokens
        if tokens.kind is Kind.LOOK:
            return self._read_look()
        found = _find_constraint(tokens.kind)
        if found is not None:
            if tokens.kind in (Kind.LINE_START, Kind.LINE_END) and tokens.flags & Flag.NEWLINE_ANCHORS:
                found = parts.Choice((found, parts.Neighbor(NEWLINE, tokens.kind is Kind.LINE_END)))
            tokens.advance()
        return found

    def _read_look(self) -> parts.Expression:
        look = self.tokens.value
        self.tokens.advance()
        part = self.read_choice(Kind.CLOSE, True)
        self.tokens.advance()
        return parts.look_around(part.expression, *look)

    def _read_atom(self, in_look: bool) -> _Atom:
        tokens = self.tokens
        points: CodePoints
        match tokens.kind:
            case Kind.BRACKET:
                return _Atom(parts.Characters(read_bracket(tokens)))
            case Kind.OPEN:
                return self._read_group(in_look)
            case Kind.BACK_REFERENCE:
                return self._read_reference(in_look)
            case Kind.ANY:
                points = complement(NEWLINE) if tokens.flags & Flag.NEWLINE_STOPS else ANYTHING
            case Kind.CLASS:
                points = class_set(tokens.value, tokens.flags)
            case Kind.OTHER_CLASS:
                points = complement(class_set(tokens.value, tokens.flags))
            case Kind.PLAIN:
                points = character_set(tokens.value, tokens.flags)
            case Kind.CLOSE:
                # An unbalanced parenthesis is literal in extended, but not in advanced or basic expressions.
                if tokens.flags & Flag.ADVANCED != Flag.EXTENDED:
                    refuse(BAD_PARENTHESES)
                points = character_set(tokens.value, tokens.flags)
            case _:
                refuse(BAD_OPERAND)
        tokens.advance()
        return _Atom(parts.Characters(points))

    def _read_group(self, in_look: bool) -> _Atom:
        captures = bool(self.tokens.value) and not in_look
        number = 0
        if captures:
            self.tokens.groups += 1
            number = self.tokens.groups
        self.tokens.advance()
        node = self.read_choice(Kind.CLOSE, in_look)
        self.tokens.advance()
        if captures:
            if node.group:
                node = parts.Node(parts.Shape.CAPTURE, node.traits, node.expression, [node])
            node.traits |= parts.Trait.CAPTURES
            node.group = number
            self.captured[number] = node
        return _Atom(node.expression, node, captures)

    def _read_reference(self, in_look: bool) -> _Atom:
        number = self.tokens.value
        if in_look or number not in self.captured:
            refuse(BAD_REFERENCE)
        referred = self.captured[number]
        referred.traits |= parts.Trait.REFERRED
        self.tokens.advance()
        expression = parts.drop_constraints(referred.expression)
        return _Atom(
            expression,
            parts.Node(parts.Shape.REFERENCE, parts.Trait.REFERS, expression, reference=number),
            True,
        )

    def _read_count(self) -> Quantifier:
        tokens = self.tokens
        if tokens.kind is Kind.QUANTIFIER:
            quantifier: Quantifier = tokens.value
            tokens.advance()
            return quantifier
        if tokens.kind is not Kind.BOUND:
            return ONCE
        tokens.advance()
        least = most = self._read_number()
        has_preference = tokens.is_at(Kind.COMMA)
        if has_preference:
            tokens.advance()
            unlimited = not tokens.is_at(Kind.DIGIT)
            most = MOST_REPEATS + 1 if unlimited else self._read_number()
            if least > most:
                refuse(BAD_BOUND)
        if not tokens.is_at(Kind.BOUND_END):
            refuse(BAD_BOUND)
        preference = tokens.value if has_preference else parts.Trait.NONE
        tokens.advance()
        return Quantifier(least, None if most > MOST_REPEATS else most, preference)

    def _read_number(self) -> int:
        number = 0
        while self.tokens.kind is Kind.DIGIT and number < MOST_REPEATS:
            number = number * 10 + self.tokens.value
            self.tokens.advance()
        if self.tokens.kind is Kind.DIGIT or number > MOST_REPEATS:
            refuse(BAD_BOUND)
        return number


class _Item(NamedTuple):
    node: parts.Node
    traits: parts.Trait  # of the sequence that starts with it


def _repeat_node(atom: _Atom, count: Quantifier) -> _Item:
    node = atom.node or parts.Node(parts.Shape.WHOLE, parts.Trait.NONE, atom.expression)
    least, most, preference = count
    traits = parts.combine(preference, node.traits)
    expression = parts.repeat(atom.expression, least, most)
    if node.shape is parts.Shape.REFERENCE and node.reference and atom.must_split and not node.group:
        node.expression, node.least, node.most = expression, least, most
        node.traits |= traits
        return _Item(node, traits)
    lengths = node.traits & (parts.PREFERENCE | parts.Trait.MIXED)
    if least == most == 1 and (not preference or not lengths or preference == lengths):
        return _Item(node, traits)
    if not node.traits & (parts.Trait.CAPTURES | parts.Trait.REFERS):
        return _Item(parts.Node(parts.Shape.WHOLE, traits, expression), traits)
    if least > 0 and not node.traits & parts.Trait.REFERS:
        # Only the last repetition's captures are visible, so the others need not be distinguished.
        earlier = parts.repeat(atom.expression, least - 1, None if most is None else most - 1)
        head = parts.Node(parts.Shape.WHOLE, traits & parts.PREFERENCE, earlier)
        return _Item(_pair(traits, head, node), traits)
    return _Item(parts.Node(parts.Shape.REPEAT, traits, expression, [node], least=least, most=most), traits)


def _pair(traits: parts.Trait, first: parts.Node, second: parts.Node) -> parts.Node:
    return parts.Node(
        parts.Shape.PAIR, traits, parts.in_sequence(first.expression, second.expression), [first, second]
    )
