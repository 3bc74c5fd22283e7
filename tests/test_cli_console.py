"""What a command says besides its result."""

from __future__ import annotations

import warnings

import pytest

from geodomain.cli.console import Console
from geodomain.errors import GeodomainWarning


def test_a_warning_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    console = Console(quiet=False)
    with console.listening():
        for _ in range(2):
            warnings.warn("ore.stl\nis odd", GeodomainWarning, stacklevel=1)
    console.warn("ore.stl is odd")
    assert capsys.readouterr().err == "warning: ore.stl is odd\n"
    assert console.said == ["ore.stl is odd"]


def test_quiet_keeps_warnings_for_the_report(capsys: pytest.CaptureFixture[str]) -> None:
    console = Console(quiet=True)
    with console.listening():
        warnings.warn("odd", GeodomainWarning, stacklevel=1)
    assert (capsys.readouterr().err, console.said) == ("", ["odd"])


def test_other_warnings_stay_what_they_are() -> None:
    with pytest.warns(DeprecationWarning, match="old"), Console(quiet=False).listening():
        warnings.warn("old", DeprecationWarning, stacklevel=1)
