"""Lines of a scheduling cycle: collected, kept beside verdicts, counted again when a verdict is used again."""

import pytest

from mockkube.runtime.component_log import ComponentLog, Level, LogLine
from mockkube.runtime.virtual_time import VirtualClock
from mockkube.scheduler.framework.log_buffer import LogBuffer


@pytest.fixture
def log() -> ComponentLog:
    return ComponentLog()


@pytest.fixture
def buffer(log: ComponentLog) -> LogBuffer:
    return LogBuffer(log, VirtualClock())


def _written(log: ComponentLog) -> dict[str, int]:
    return {entry.line.message: entry.count for entry in log.entries_since(0.0)}


def test_outside_of_a_cycle_a_line_is_written_at_once(buffer: LogBuffer, log: ComponentLog) -> None:
    buffer.error("hint")
    assert _written(log) == {"hint": 1}
    assert not buffer.fresh


def test_a_cycle_writes_its_lines_at_its_end_with_the_pod(buffer: LogBuffer, log: ComponentLog) -> None:
    buffer.begin_cycle()
    buffer.error("a")
    buffer.error("a")
    buffer.info("b", 5)
    assert _written(log) == {}
    buffer.flush("default/p")
    assert _written(log) == {'a pod="default/p"': 2, 'b pod="default/p"': 1}
    assert [entry.line.verbosity for entry in log.entries_since(0.0)] == [0, 5]


def test_lines_that_were_taken_count_for_the_nodes_that_are_looked_at(buffer: LogBuffer, log: ComponentLog) -> None:
    buffer.begin_cycle()
    buffer.error("a")
    kept = {3: buffer.take_fresh(), 7: (LogLine(Level.ERROR, "a"), LogLine(Level.ERROR, "c"))}
    buffer.count_cached(kept, None)
    buffer.count_cached(kept, [1, 7])
    buffer.count_cached(kept, range(4))
    buffer.flush("p")
    assert _written(log) == {'a pod="p"': 4, 'c pod="p"': 2}


def test_an_error_is_shown_on_the_terminal_once(buffer: LogBuffer, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        buffer.begin_cycle()
        buffer.error("a")
        buffer.info("b", 5)
        buffer.flush("p")
    assert caplog.messages == ['a pod="p"']
