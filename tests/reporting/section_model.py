"""A block model for the tests of sections."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Work beside a model of 20 x 10 x 2 blocks of 10: ORE in the west half of it."""
    monkeypatch.chdir(tmp_path)
    rows = [
        f"{5 + 10 * i},{5 + 10 * j},{5 + 10 * k},10,10,10,{'ORE' if i < 10 else 'WASTE'},{i}"
        for k in range(2)
        for j in range(10)
        for i in range(20)
    ]
    Path("b.csv").write_text("\n".join(["X,Y,Z,DX,DY,DZ,domain,AU", *rows, ""]))
    return "b.csv"
