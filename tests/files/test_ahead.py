"""Work one step ahead comes in order, and ends with who takes its results."""

import threading
import time

import pytest

from geodomain.files.pipeline import Ahead


def test_results_come_in_order_and_one_ahead():
    begun = []

    def square(item):
        begun.append(item)
        return item * item

    ahead, taken = Ahead(range(50), square), []
    for result in ahead.results():
        taken.append(result)
        assert len(begun) <= len(taken) + 1
    assert taken == [item * item for item in range(50)]
    ahead.stop()


def test_the_next_result_is_made_while_one_is_used():
    made = threading.Semaphore(0)
    ahead = Ahead(range(3), lambda _: made.release())
    for _ in ahead.results():
        assert made.acquire(timeout=60)
    ahead.stop()


def test_no_items_no_results():
    assert list(Ahead([], str).results()) == []


def test_an_error_comes_after_the_results_before_it():
    taken = []
    ahead = Ahead([2, 1, 0, 3], lambda item: 6 // item)
    with pytest.raises(ZeroDivisionError):
        taken.extend(ahead.results())
    assert taken == [3, 6]
    ahead.stop()


def test_an_error_of_the_items_is_one_too():
    def items():
        yield 1
        message = "torn"
        raise OSError(message)

    taken = []
    with pytest.raises(OSError, match="torn"):
        taken.extend(Ahead(items(), str).results())
    assert taken == ["1"]


def test_nothing_begins_after_the_end():
    begun, may_go = [], threading.Event()

    def items():
        yield 0
        may_go.wait(60)
        yield 1

    ahead = Ahead(items(), begun.append)
    results = ahead.results()
    next(results)
    ahead.stop()
    may_go.set()
    time.sleep(0.05)
    assert begun == [0]


def test_the_end_waits_for_what_is_being_done():
    begun, done = threading.Event(), []

    def slow(_):
        begun.set()
        time.sleep(0.1)
        done.append(True)

    ahead = Ahead([0], slow)
    begun.wait(60)
    ahead.stop()
    assert done == [True]
