import json
from datetime import UTC, datetime
from importlib import resources

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mockkube.api import catalogue
from mockkube.api.fields import invalid
from mockkube.api.json_objects import Object
from mockkube.api.kinds.every_kind import KINDS, build_index
from mockkube.api.kinds.strategies import Strategies
from mockkube.api.printers.default_printers import CREATED_AT_PRINTER
from mockkube.api.strategy_dependencies import StrategyDependencies

NOW = datetime(2026, 3, 14, 12, 0, 0, tzinfo=UTC)
BY_NAME = {(kind.group, kind.kind): kind for kind in KINDS}
STRATEGIES = Strategies()


def test_the_index_is_what_the_records_say() -> None:
    stored = json.loads(resources.files("mockkube.api").joinpath("data/kinds.json").read_bytes())
    assert stored == json.loads(json.dumps(build_index())), "run make kinds"


@pytest.mark.parametrize("kind", [pytest.param(kind, id=f"{kind.group}/{kind.kind}") for kind in KINDS])
def test_a_kind_is_loaded_by_its_name(kind) -> None:
    assert catalogue.load_kind(kind.group, kind.kind).plural == kind.plural
    assert set(kind.defaults) | set(kind.time_defaults) <= set(kind.versions)


def test_dependencies_reach_the_strategies(judge) -> None:
    def refuse(expression, at, judge, stored):
        return [invalid(at, expression, "refused")]

    device_class = BY_NAME["resource.k8s.io", "DeviceClass"]
    strict = Strategies(StrategyDependencies(device_expression=refuse)).for_kind(device_class)
    obj = {"metadata": {"name": "c"}, "spec": {"selectors": [{"cel": {"expression": "x"}}]}}
    assert [error.detail for error in strict.validate(obj, judge())] == ["refused"]
    assert STRATEGIES.for_kind(device_class).validate(obj, judge()) == []


def test_every_strategy_answers_for_the_fields_it_names() -> None:
    minimal = {"metadata": {"name": "n"}, "spec": {}, "status": {}}
    for kind in KINDS:
        strategy = STRATEGIES.for_kind(kind)
        assert set(strategy.selectable_fields(minimal)) >= set(strategy.selectable_field_names), kind.kind


def test_some_groups_let_finalizers_be_any_qualified_name() -> None:
    assert {kind.group for kind in KINDS if not STRATEGIES.for_kind(kind).requires_qualified_finalizers} == {
        "",
        "admissionregistration.k8s.io",
        "apiextensions.k8s.io",
        "apiregistration.k8s.io",
        "coordination.k8s.io",
        "node.k8s.io",
        "policy",
    }


PRINTED = [
    pytest.param(kind, id=f"{kind.group}/{kind.kind}") for kind in KINDS if kind.printer is not CREATED_AT_PRINTER
]
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


@pytest.mark.parametrize("kind", PRINTED)
def test_an_empty_object_fills_every_column(kind) -> None:
    unannounced = 1 if kind.kind == "IPAddress" else 0  # upstream sends it an age without a heading
    row = kind.printer.row({"metadata": {"name": "x"}}, NOW)
    assert len(row.cells) == len(kind.printer.columns) + unannounced
    assert "x" in row.cells


@pytest.mark.parametrize("kind", PRINTED)
def test_columns_are_described_and_typed(kind) -> None:
    for column in kind.printer.columns:
        assert column.description
        assert column.type in ("string", "integer", "boolean")
        assert column.priority in (0, 1)


@settings(suppress_health_check=[HealthCheck.too_slow])  # on a busy machine
@given(OBJECTS)
def test_printers_take_any_object(obj: Object) -> None:
    for kind in KINDS:
        for cell in kind.printer.row(obj, NOW).cells:
            assert isinstance(cell, str | int)


def test_a_kind_without_a_printer_shows_its_name_and_creation() -> None:
    assert BY_NAME["", "LimitRange"].printer is CREATED_AT_PRINTER
    assert [(column.name, column.type) for column in CREATED_AT_PRINTER.columns] == [
        ("Name", "string"),
        ("Created At", "date"),
    ]
    made = {"metadata": {"name": "l", "creationTimestamp": "2026-03-14T11:00:00Z"}}
    assert CREATED_AT_PRINTER.row(made, NOW).cells == ["l", "2026-03-14T11:00:00Z"]
    assert CREATED_AT_PRINTER.row({"metadata": {"name": "l"}}, NOW).cells == ["l", "0001-01-01T00:00:00Z"]


def test_both_groups_of_events_share_a_printer() -> None:
    assert BY_NAME["", "Event"].printer is BY_NAME["events.k8s.io", "Event"].printer
