"""Logs of components: counts, moments, and their bound."""

from hypothesis import given
from hypothesis import strategies as st

from mockkube.runtime.component_log import ComponentLog, Level, LogEntry, LogLine

_LINE = LogLine(Level.ERROR, "a")
_OTHER = LogLine(Level.INFO, "b", 2)


def test_lines_of_one_text_at_one_moment_are_one_entry() -> None:
    log = ComponentLog()
    log.write(1.0, _LINE, 3)
    log.write(1.0, _LINE)
    log.write(1.0, _OTHER)
    log.write(2.0, _OTHER)
    assert list(log.entries_since(0.0)) == [LogEntry(1.0, _LINE, 4), LogEntry(1.0, _OTHER, 1), LogEntry(2.0, _OTHER, 1)]


def test_a_moment_leaves_out_what_was_written_before() -> None:
    log = ComponentLog()
    for at in (1.0, 2.0, 3.0):
        log.write(at, _LINE)
    assert [entry.at for entry in log.entries_since(2.0)] == [2.0, 3.0]


def test_the_oldest_entries_are_forgotten_first() -> None:
    log = ComponentLog(lines_max=2)
    for at in (1.0, 2.0, 3.0):
        log.write(at, _LINE)
    assert [entry.at for entry in log.entries_since(0.0)] == [2.0, 3.0]


def test_errors_are_written_at_the_time_of_the_clock() -> None:
    log, moments = ComponentLog(), iter((5.0, 7.0))
    write = log.error_logger(lambda: next(moments))
    write("x")
    write("x")
    assert [(entry.at, entry.line) for entry in log.entries_since(0.0)] == [
        (5.0, LogLine(Level.ERROR, "x")),
        (7.0, LogLine(Level.ERROR, "x")),
    ]


@given(st.lists(st.tuples(st.sampled_from([_LINE, _OTHER]), st.integers(1, 9), st.integers(0, 2))))
def test_no_line_is_lost_whatever_is_written_when(written: list[tuple[LogLine, int, int]]) -> None:
    log = ComponentLog()
    for line, count, at in sorted(written, key=lambda one: one[2]):
        log.write(float(at), line, count)
    for line in (_LINE, _OTHER):
        assert sum(one.count for one in log.entries_since(0.0) if one.line == line) == sum(
            count for other, count, _ in written if other == line
        )
