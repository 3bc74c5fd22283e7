"""Two holes, their assays and an orebody; the findings that a test is meant to warn of."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from wireframes import box

from geodomain import GeodomainWarning
from geodomain.formats.wireframes import write_mesh

COLLAR = "BHID,XCOLLAR,YCOLLAR,ZCOLLAR,ENDDEPTH\nA,5,5,30,40\nB,50,5,30,40\n"

SURVEY = "BHID,AT,BRG,DIP\nA,0,0,90\nB,0,0,90\n"

ASSAY = (
    "BHID,FROM,TO,AU,NOTE\n"
    "A,0.00,8.00,1.50,\n"
    'A,8.00,14.5,2.70,"a, b"\n'
    "A,14.5,21.20,0.10,x\n"
    "B,0,10,.5,\n"
)

ORE = {"ORE": box((0, 0, 10), (10, 10, 20))}  # from 10 to 20 down hole A


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("collar.csv").write_text(COLLAR)
    Path("survey.csv").write_text(SURVEY)
    Path("assay.csv").write_text(ASSAY)
    write_mesh(ORE["ORE"], Path("ore.ply"))
    return tmp_path


@contextmanager
def warned_of(*always: str, maybe: tuple[str, ...] = ()) -> Iterator[None]:
    """Require warnings of these kinds of finding, and fail at any other warning.

    Decorates a test. Some of its cases, and not all, warn of the kinds in `maybe`.
    """
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", GeodomainWarning)
        yield
    sentences = [str(warning.message) for warning in told]
    kinds = {re.sub(r".*\[([a-z-]+)\].*", r"\1", sentence) for sentence in sentences}
    assert set(always) <= kinds <= {*always, *maybe}
