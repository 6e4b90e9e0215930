from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockkube.api.printers.catalogue import DEFAULT, PRINTERS, printer_of
from mockkube.api.types import Object

NOW = datetime(2026, 3, 14, 12, 0, 0, tzinfo=UTC)
KINDS = [pytest.param(*key, id="/".join(key)) for key in PRINTERS]
VOCABULARY = """
metadata spec status name namespace labels annotations creationTimestamp deletionTimestamp ownerReferences controller
apiVersion kind type reason message conditions containers initContainers containerStatuses initContainerStatuses state
terminated waiting exitCode signal lastState restartCount template selector matchLabels matchExpressions key operator
values metrics resource target current currentMetrics averageValue value subsets ports port addresses ip endpoints
ingress loadBalancer clusterIPs externalIPs hard used limits subjects roleRef series source involvedObject regarding
startTime completionTime tls rules host parentRef group pools taint timeAdded claimRef capacity storage accessModes
limited limitResponse queuing paramRef webhooks nodeInfo service allocation suspend expirationSeconds
"""
WORDS = VOCABULARY.split()
LEAVES = st.none() | st.booleans() | st.integers(-(2**31), 2**31 - 1) | st.text(max_size=3) | st.sampled_from(WORDS)
JSON = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=6),
    max_leaves=40,
)
OBJECTS = st.fixed_dictionaries(
    {}, optional=dict.fromkeys(["metadata", "spec", "status", "apiVersion", "subsets"], JSON)
)


@pytest.mark.parametrize(("group", "kind"), KINDS)
def test_an_empty_object_fills_every_column(group: str, kind: str) -> None:
    printer = PRINTERS[group, kind]
    unannounced = 1 if kind == "IPAddress" else 0  # upstream sends it an age without a heading
    assert len(printer.row({"metadata": {"name": "x"}}, NOW).cells) == len(printer.columns) + unannounced


@pytest.mark.parametrize(("group", "kind"), KINDS)
def test_the_name_is_among_the_cells(group: str, kind: str) -> None:
    assert "x" in PRINTERS[group, kind].row({"metadata": {"name": "x"}}, NOW).cells


@pytest.mark.parametrize(("group", "kind"), KINDS)
def test_columns_are_described_and_typed(group: str, kind: str) -> None:
    for column in PRINTERS[group, kind].columns:
        assert column.description
        assert column.type in ("string", "integer", "boolean")
        assert column.priority in (0, 1)


@given(OBJECTS)
def test_no_object_is_too_odd_to_print(obj: Object) -> None:
    for printer in PRINTERS.values():
        for cell in printer.row(obj, NOW).cells:
            assert isinstance(cell, str | int)


def test_a_kind_without_a_printer_shows_its_name_and_creation() -> None:
    printer = printer_of("", "LimitRange")
    assert printer is DEFAULT
    assert [(column.name, column.type) for column in DEFAULT.columns] == [("Name", "string"), ("Created At", "date")]
    made = {"metadata": {"name": "l", "creationTimestamp": "2026-03-14T11:00:00Z"}}
    assert DEFAULT.row(made, NOW).cells == ["l", "2026-03-14T11:00:00Z"]
    assert DEFAULT.row({"metadata": {"name": "l"}}, NOW).cells == ["l", "0001-01-01T00:00:00Z"]


def test_both_groups_of_events_share_a_printer() -> None:
    assert printer_of("", "Event") is printer_of("events.k8s.io", "Event")
