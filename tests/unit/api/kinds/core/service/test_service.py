import pytest

from mockkube.api.kinds.core.service.service import ServiceStrategy

STRATEGY = ServiceStrategy()


def service(**spec):
    fields = {
        "type": "ClusterIP",
        "clusterIP": "10.0.0.1",
        "clusterIPs": ["10.0.0.1"],
        "ipFamilies": ["IPv4"],
        "ipFamilyPolicy": "SingleStack",
        "internalTrafficPolicy": "Cluster",
        "sessionAffinity": "None",
        "ports": [{"port": 80, "targetPort": 80, "protocol": "TCP"}],
    }
    spec = {name: value for name, value in {**fields, **spec}.items() if value is not None}
    return {"metadata": {"name": "s"}, "spec": spec, "status": {"loadBalancer": {}}}


def port(number, **fields):
    return {"port": number, "targetPort": number, "protocol": "TCP", **fields}


@pytest.mark.parametrize(
    ("obj", "complaints"),
    [
        pytest.param(service(), [], id="fine"),
        pytest.param(service(ports=None), ["spec.ports: Required value"], id="no ports"),
        pytest.param(service(ports=None, clusterIP="None", clusterIPs=["None"]), [], id="headless needs none"),
        pytest.param(
            service(ports=[port(80, nodePort=30000)]),
            ["spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"],
            id="node port without a node",
        ),
        pytest.param(
            service(ports=[port(80, name="a"), port(80, name="b")]),
            [
                'spec.ports[1]: Duplicate value: {"Name":"","Protocol":"TCP","AppProtocol":null,"Port":80,'
                '"TargetPort":0,"NodePort":0}'
            ],
            id="same port twice",
        ),
        pytest.param(
            service(sessionAffinity="ClientIP"),
            ["spec.sessionAffinityConfig: Required value: when session affinity type is ClientIP"],
            id="affinity without configuration",
        ),
        pytest.param(
            service(externalTrafficPolicy="Local"),
            ['spec.externalTrafficPolicy: Invalid value: "Local": may only be set for externally-accessible services'],
            id="outside traffic for an inside service",
        ),
        pytest.param(
            service(loadBalancerSourceRanges=["10.0.0.0/8"]),
            ["spec.LoadBalancerSourceRanges: Forbidden: may only be used when `type` is 'LoadBalancer'"],
            id="ranges without a balancer",
        ),
        pytest.param(
            service(internalTrafficPolicy=None), ["spec.internalTrafficPolicy: Required value"], id="inside traffic"
        ),
    ],
)
def test_a_service_is_judged_as_it_would_be_stored(judge, obj, complaints):
    assert [str(error) for error in STRATEGY.validate(obj, judge())] == complaints


@pytest.mark.parametrize(("gates", "refused"), [((), True), (("RelaxedServiceNameValidation",), False)])
def test_a_name_starts_with_a_digit_behind_a_gate(judge, gates, refused):
    obj = service()
    obj["metadata"]["name"] = "1s"
    assert bool(STRATEGY.validate(obj, judge(*gates))) is refused


def test_an_external_name_has_no_addresses(judge):
    obj = service(type="ExternalName", externalName="a.b.", ports=None, internalTrafficPolicy=None)
    assert [error.field for error in STRATEGY.validate(obj, judge())] == [
        "spec.clusterIPs",
        "spec.ipFamilies",
        "spec.ipFamilyPolicy",
    ]


@pytest.mark.parametrize(("gates", "known"), [((), False), (("PreferSameTrafficDistribution",), True)])
def test_the_nearest_node_is_preferred_behind_a_gate(judge, gates, known):
    errors = STRATEGY.validate(service(trafficDistribution="PreferSameNode"), judge(*gates))
    assert (errors == []) is known


def test_an_address_is_kept(judge):
    new = service(clusterIP="10.0.0.2", clusterIPs=["10.0.0.2"])
    errors = STRATEGY.validate_update(new, service(), judge())
    assert [str(error) for error in errors] == [
        'spec.clusterIPs[0]: Invalid value: ["10.0.0.2"]: may not change once set'
    ]


def test_another_type_drops_what_the_old_one_had(judge):
    old = service(type="NodePort", ports=[port(80, nodePort=30000)], externalTrafficPolicy="Cluster")
    new = service(ports=[port(80, nodePort=30000)], externalTrafficPolicy="Cluster")
    STRATEGY.prepare_for_update(new, old, judge())
    assert "nodePort" not in new["spec"]["ports"][0]
    assert "externalTrafficPolicy" not in new["spec"]


def test_a_name_from_outside_needs_no_address(judge):
    new = service(type="ExternalName", externalName="a.b")
    STRATEGY.prepare_for_update(new, service(), judge())
    assert not {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"} & new["spec"].keys()


def test_a_name_from_outside_has_no_policy_for_traffic_from_inside(judge):
    new = service(type="ExternalName", externalName="a.b", internalTrafficPolicy="Local")
    STRATEGY.canonicalize(new)
    assert "internalTrafficPolicy" not in new["spec"]
    kept = service(internalTrafficPolicy="Local")
    STRATEGY.canonicalize(kept)
    assert kept["spec"]["internalTrafficPolicy"] == "Local"


def test_only_a_load_balancer_reports_addresses(judge):
    new = service()
    new["status"] = {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}}
    status = judge(subresource="status")
    assert [error.field for error in STRATEGY.validate_update(new, service(), status)] == [
        "status.loadBalancer.ingress"
    ]
    new["spec"]["type"] = "LoadBalancer"
    assert [error.field for error in STRATEGY.validate_update(new, service(), status)] == [
        "status.loadBalancer.ingress[0].ipMode"
    ]


def test_what_has_no_effect_is_warned_of(judge):
    obj = service(clusterIP="None", clusterIPs=["None"], externalIPs=["1.2.3.4"], sessionAffinity="ClientIP")
    assert STRATEGY.warnings_on_create(obj, judge()) == [
        "spec.externalIPs is ignored for headless services",
        "spec.SessionAffinity is ignored for headless services",
    ]
