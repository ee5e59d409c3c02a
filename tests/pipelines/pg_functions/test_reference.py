"""The reference database is set up as documented."""

from __future__ import annotations

from tests.pipelines.pg_functions.reference import Reference


def test_the_reference_maps_case_and_classifies_letters_by_unicode(reference: Reference) -> None:
    found = reference.ask(["lower('ÉİSSß')", "'é' ~ '\\w'", "'a' < 'B'", "1/0", "null::int"])
    assert found == ["éissß", "true", "false", "error: division by zero", None]
