"""What several test modules share: backends, and where the reference data is."""

from __future__ import annotations

import locale
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# How long an example takes says how busy the machine is.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")

SHARED = Path(__file__).parents[1].parent / "shared" / "data"


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def backend(request: pytest.FixtureRequest) -> str:
    """Return each backend in turn; the GPU's only where one is asked for and there."""
    name: str = request.param
    if name == "cuda":
        pytest.importorskip("pycuda.driver", exc_type=ImportError)
    return name


@pytest.fixture(autouse=True)
def _same_locale() -> Iterator[None]:
    """Undo what VTK 9.4 does where a test writes a legacy file by PyVista: "C" stays after it."""
    before = locale.setlocale(locale.LC_ALL)
    yield
    if locale.setlocale(locale.LC_ALL) != before:
        locale.setlocale(locale.LC_ALL, before)


@pytest.fixture
def shared_data() -> Path:
    """Return the folder of reference data kept beside the checkout, or skip."""
    if not SHARED.is_dir():
        pytest.skip(f"no reference data at {SHARED}")
    return SHARED
