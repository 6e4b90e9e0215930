"""Typed characters of a terminal become lines."""

import pytest

from mockkube.apiserver.http.streaming.terminal import LINE_MAX, LineDiscipline, TerminalInput, to_terminal


@pytest.mark.parametrize(
    ("typed", "result"),
    [
        pytest.param("ls", TerminalInput("ls"), id="a line that is not complete"),
        pytest.param("ls\r", TerminalInput("ls\r\n", "ls\n"), id="a line"),
        pytest.param("lx\x7fs\r", TerminalInput("lx\b \bs\r\n", "ls\n"), id="backspace"),
        pytest.param("\x7f\r", TerminalInput("\r\n", "\n"), id="nothing to erase"),
        pytest.param("ab\x15c\r", TerminalInput("ab\b \b\b \bc\r\n", "c\n"), id="a line that is killed"),
        pytest.param("\x1b[A\x1bOP\x1b[1;5Cx\r", TerminalInput("x\r\n", "x\n"), id="arrows and function keys"),
        pytest.param("\x04", TerminalInput(is_end=True), id="end of input"),
        pytest.param("a\x04", TerminalInput("a", "a"), id="end within a line"),
        pytest.param("a\x03b", TerminalInput("a^C\r\n", is_interrupt=True), id="interrupt"),
        pytest.param("\x00\x01é\r", TerminalInput("é\r\n", "é\n"), id="control characters"),
    ],
)
def test_characters_are_echoed_and_collected(typed, result):
    assert LineDiscipline().type(typed) == result


def test_a_line_may_arrive_in_pieces():
    terminal = LineDiscipline()
    assert [terminal.type(one).text for one in ("e", "cho \x1b", "[A", "a\r")] == ["", "", "", "echo a\n"]


def test_a_line_is_bounded():
    assert len(LineDiscipline().type(f"{'x' * (LINE_MAX + 10)}\r").text) == LINE_MAX + 1


def test_output_returns_the_carriage():
    assert to_terminal("a\nb\n") == "a\r\nb\r\n"
