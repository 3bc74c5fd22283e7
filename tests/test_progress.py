"""The line of progress and its estimate of the time left, by a clock that the test turns."""

from __future__ import annotations

import pytest

from geodomain import progress
from geodomain.progress import TimeLeft, show_progress, time_text


class Clock:
    """A clock that stands still until it is turned."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    turned = Clock()
    monkeypatch.setattr(progress, "time", turned)
    return turned


def test_the_rest_takes_as_long_at_the_same_pace(clock: Clock) -> None:
    pace = TimeLeft()
    assert pace.after(0, 1000) is None
    clock.now += 10
    assert pace.after(250, 1000) == pytest.approx(30)
    clock.now += 10
    assert pace.after(500, 1000) == pytest.approx(20)
    clock.now += 20
    assert pace.after(1000, 1000) is None


def test_what_was_done_before_does_not_count(clock: Clock) -> None:
    """A labelling that goes on where it was stopped begins with much done already."""
    pace = TimeLeft()
    pace.after(900, 1000)
    clock.now += 10
    assert pace.after(950, 1000) == pytest.approx(10)


def test_a_guess_is_not_made_of_too_little(clock: Clock) -> None:
    pace = TimeLeft()
    pace.after(0, 1000)
    clock.now += 1
    assert pace.after(500, 1000) is None
    clock.now += 99
    assert TimeLeft().after(19, 1000) is None


def test_a_second_pass_has_an_estimate_of_its_own(clock: Clock) -> None:
    pace = TimeLeft()
    pace.after(0, 1000)
    clock.now += 100
    pace.after(1000, 1000)
    pace.after(0, 1000)
    clock.now += 4
    assert pace.after(400, 1000) == pytest.approx(6)


def test_the_line_says_the_share_and_the_time_left(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    with show_progress(True, "labelling") as told:
        assert told is not None
        told(0, 200)
        clock.now += 60
        told(50, 200)
        told(200, 200)
        told(3_000_000, None)
    lines = capsys.readouterr().err.split("\r\x1b[K")
    assert lines == [
        *("", "labelling   0%", "labelling  25%, 3 min left", "labelling 100%"),
        *("labelling 3 MB", ""),
    ]


def test_times_are_as_rough_as_estimates() -> None:
    said = [time_text(seconds) for seconds in (0, 9.4, 12, 57, 58, 119, 3570, 3600, 9000)]
    assert said == ["1 s", "9 s", "10 s", "55 s", "1 min", "2 min", "1 h", "1 h", "2 h 30 min"]
