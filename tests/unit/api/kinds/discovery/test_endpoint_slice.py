import pytest

from mockkube.api.kinds.discovery.endpoint_slice import EndpointSliceStrategy, validate_fully_qualified_domain_name

STRATEGY = EndpointSliceStrategy()


def endpoint_slice(*endpoints, kind="IPv4", ports=(), **metadata):
    own = {"addressType": kind, "endpoints": list(endpoints), "ports": list(ports)}
    return {"metadata": {"name": "e", **metadata}, **own}


@pytest.mark.parametrize(
    ("obj", "complaints"),
    [
        pytest.param(endpoint_slice({"addresses": ["1.2.3.4"]}), [], id="fine"),
        pytest.param(
            endpoint_slice({}),
            ["endpoints[0].addresses: Required value: must contain at least 1 address"],
            id="no address",
        ),
        pytest.param(
            endpoint_slice({"addresses": ["2001:db8::1"]}),
            ['endpoints[0].addresses: Invalid value: "2001:db8::1": must be an IPv4 address'],
            id="other family",
        ),
        pytest.param(
            endpoint_slice(ports=[{"name": "a", "protocol": "TCP"}, {"name": "a", "protocol": "TCP"}]),
            ['ports[1].name: Duplicate value: "a"'],
            id="same name twice",
        ),
        pytest.param(endpoint_slice(kind=""), ["addressType: Required value"], id="no type"),
        pytest.param(
            endpoint_slice({"addresses": ["1.2.3.4"], "hints": {"forZones": [{"name": "z"}] * 2}}),
            ['endpoints[0].hints.forZones[1].name: Duplicate value: "z"'],
            id="same zone twice",
        ),
    ],
)
def test_endpoints_are_judged(judge, obj, complaints):
    assert [str(error) for error in STRATEGY.validate(obj, judge())] == complaints


@pytest.mark.parametrize(("name", "wrong"), [("a.b.", False), ("a", True), ("", True), ("a..b", True)])
def test_a_domain_has_two_parts(name, wrong):
    assert bool(validate_fully_qualified_domain_name(name, "at")) is wrong


def test_labels_count_as_changes(judge):
    new, old = endpoint_slice(labels={"a": "b"}), endpoint_slice(generation=3)
    STRATEGY.prepare_for_update(new, old, judge())
    assert new["metadata"]["generation"] == 4


def test_topology_of_the_beta_version_is_dropped(judge):
    obj = endpoint_slice({"addresses": ["1.2.3.4"], "deprecatedTopology": {"a": "b"}})
    STRATEGY.prepare_for_create(obj, judge())
    assert "deprecatedTopology" not in obj["endpoints"][0]


@pytest.mark.parametrize(("gates", "kept"), [((), False), (("PreferSameTrafficDistribution",), True)])
def test_nodes_are_hinted_at_behind_a_gate(judge, gates, kept):
    obj = endpoint_slice({"addresses": ["1.2.3.4"], "hints": {"forNodes": [{"name": "n"}]}})
    STRATEGY.prepare_for_create(obj, judge(*gates))
    assert ("forNodes" in obj["endpoints"][0]["hints"]) is kept
