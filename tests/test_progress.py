"""A bar for long work, on terminals alone."""

from __future__ import annotations

import pytest

import suffice.progress as module
from suffice.progress import progress


@pytest.mark.parametrize(("show", "patience", "shown"), [(True, 0, True), (True, 60, False), (None, 0, False)])
def test_shows_long_work_to_those_who_watch(
    show: bool | None, patience: float, shown: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PATIENCE", patience)
    monkeypatch.setenv("FORCE_COLOR", "1")
    with progress("Counting", 4, show) as advance:
        for _ in range(4):
            advance(1)
    assert ("Counting" in capsys.readouterr().err) == shown


def test_is_put_away_after_an_error(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PATIENCE", 0)
    monkeypatch.setenv("FORCE_COLOR", "1")

    def fail() -> None:
        with progress("Counting", 4, True) as advance:
            advance(1)
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    with progress("Again", 4, True) as advance:
        advance(4)
    assert "Again" in capsys.readouterr().err
