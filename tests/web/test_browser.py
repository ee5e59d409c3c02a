"""Without a browser the tests of the page are skipped, and fail in CI."""

from __future__ import annotations

import pytest

from tests.web.browser import MISSING, find_chromium


@pytest.mark.parametrize(
    ("ci", "ending"), [("true", pytest.fail.Exception), ("", pytest.skip.Exception)], ids=["CI", "at home"]
)
def test_a_missing_browser_is_never_skipped_in_ci(
    monkeypatch: pytest.MonkeyPatch, ci: str, ending: type[BaseException]
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("CI", ci)
    with pytest.raises(ending, match="apt-get install chromium") as found:
        find_chromium()
    assert str(found.value) == MISSING
