"""Secrets that a process has seen are hidden from then on, wherever they are quoted."""

from __future__ import annotations

import traceback

import pytest

from dataflow.errors import BadInput
from dataflow.secrets.known import KnownSecrets


def test_a_secret_added_later_is_hidden_too() -> None:
    known = KnownSecrets("first-secret", None, "")
    assert known.redact_text("first-secret, later-secret") == "***, later-secret"
    known.add("later-secret", None)
    assert known.redact_text("first-secret, later-secret") == "***, ***"
    assert "secret" not in repr(known).lower().replace("knownsecrets", "")


def test_an_error_and_its_causes_are_shown_without_secrets() -> None:
    known = KnownSecrets("hunter2hunter2")
    with pytest.raises(BadInput) as caught, known.hidden_in_errors():
        try:
            raise ValueError("hunter2hunter2", 7)
        except ValueError as error:
            raise BadInput("it was hunter2hunter2") from error
    assert str(caught.value) == "it was ***"
    assert "'***', 7" in "".join(traceback.format_exception_only(caught.value.__cause__))
