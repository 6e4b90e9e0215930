"""Tables of compiled entries: entries that need one another, failures, and several threads."""

import threading

import pytest

from mockkube.api.compile_cache import CompileCache


def compile_ring(table: CompileCache[int, list[object]], number: int) -> list[object]:
    """Return an entry that holds the next of three, which hold one another in a ring."""
    own: list[object] = []

    def fill() -> list[object]:
        own.append(compile_ring(table, (number + 1) % 3))
        return own

    return table.get_or_compile(number, fill, own)


def test_entries_that_need_one_another_are_compiled_once() -> None:
    table = CompileCache[int, list[object]]()
    first = compile_ring(table, 0)
    second = first[0]
    assert second is table[1]
    assert table[2][0] is first
    assert compile_ring(table, 2) is table[2]


def test_an_entry_that_cannot_be_compiled_is_tried_again() -> None:
    table = CompileCache[str, str]()

    def fail() -> str:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        table.get_or_compile("a", fail, "meanwhile")
    assert table.get_or_compile("a", lambda: "made", "meanwhile") == "made"


def test_another_thread_sees_no_entry_before_it_is_whole() -> None:
    table = CompileCache[str, str]()
    begun, go_on = threading.Event(), threading.Event()
    seen: list[str] = []

    def compile_slowly() -> str:
        begun.set()
        go_on.wait(20)
        return "whole"

    first = threading.Thread(target=lambda: seen.append(table.get_or_compile("a", compile_slowly, "half")))
    second = threading.Thread(target=lambda: seen.append(table.get_or_compile("a", lambda: "other", "half")))
    first.start()
    begun.wait(20)
    assert table.get("a") is None
    second.start()
    go_on.set()
    first.join()
    second.join()
    assert seen == ["whole", "whole"]
