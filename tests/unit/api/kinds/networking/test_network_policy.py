import pytest

from mockkube.api.kinds.networking.network_policy import NetworkPolicyStrategy

STRATEGY = NetworkPolicyStrategy()


def policy(*peers, ports=(), **spec):
    return {
        "metadata": {"name": "p"},
        "spec": {"podSelector": {}, "ingress": [{"from": list(peers), "ports": list(ports)}], **spec},
    }


def block(cidr, *excepted):
    return {"ipBlock": {"cidr": cidr, "except": list(excepted)}}


@pytest.mark.parametrize(
    ("obj", "complaints"),
    [
        pytest.param(policy({"podSelector": {}}), [], id="pods"),
        pytest.param(policy({}), ["spec.ingress[0].from[0]: Required value: must specify a peer"], id="nobody"),
        pytest.param(
            policy({"podSelector": {}, **block("10.0.0.0/8")}),
            ["spec.ingress[0].from[0]: Forbidden: may not specify both ipBlock and another peer"],
            id="pods and addresses",
        ),
        pytest.param(
            policy(block("10.0.0.0/8", "11.0.0.0/16")),
            [
                'spec.ingress[0].from[0].ipBlock.except[0]: Invalid value: "11.0.0.0/16": must be a strict subset of '
                "`cidr`"
            ],
            id="except what is not in it",
        ),
        pytest.param(
            policy(ports=[{"port": 5, "endPort": 3}]),
            ["spec.ingress[0].ports[0].endPort: Invalid value: 5: must be greater than or equal to `port`"],
            id="range backwards",
        ),
        pytest.param(
            policy(ports=[{"port": "http", "endPort": 3}]),
            ["spec.ingress[0].ports[0].endPort: Invalid value: 3: may not be specified when `port` is non-numeric"],
            id="range from a name",
        ),
        pytest.param(
            policy(policyTypes=["Odd"]),
            ['spec.policyTypes[0]: Unsupported value: "Odd": supported values: "Ingress", "Egress"'],
            id="type",
        ),
    ],
)
def test_rules_are_judged(judge, obj, complaints):
    assert [str(error) for error in STRATEGY.validate(obj, judge())] == complaints


def test_a_range_that_was_odd_may_stay_so(judge):
    odd = policy(block("10.0.0.1/8"))
    strict = judge("StrictIPCIDRValidation")
    assert len(STRATEGY.validate(odd, strict)) == 1
    assert STRATEGY.validate_update(odd, odd, strict) == []
    assert len(STRATEGY.warnings_on_create(odd, strict)) == 1
