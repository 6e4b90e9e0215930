import pytest

from mockkube.api.kinds.core.endpoints import EndpointsStrategy

STRATEGY = EndpointsStrategy()


def endpoints(*subsets, **labels):
    return {"metadata": {"name": "e", "labels": labels}, "subsets": list(subsets)}


@pytest.mark.parametrize(
    ("subset", "complaints"),
    [
        pytest.param({"addresses": [{"ip": "1.2.3.4"}], "ports": [{"port": 80, "protocol": "TCP"}]}, [], id="fine"),
        pytest.param({}, ["subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`"], id="empty"),
        pytest.param(
            {"addresses": [{"ip": "127.0.0.1"}]},
            [
                'subsets[0].addresses[0].ip: Invalid value: "127.0.0.1": may not be in the loopback range '
                "(127.0.0.0/8, ::1/128)"
            ],
            id="loopback",
        ),
        pytest.param(
            {"addresses": [{"ip": "1.2.3.4"}], "ports": [{"port": 80, "protocol": "TCP"}, {"port": 81}]},
            [
                "subsets[0].ports[0].name: Required value",
                "subsets[0].ports[1].name: Required value",
                "subsets[0].ports[1].protocol: Required value",
            ],
            id="ports without names",
        ),
    ],
)
def test_subsets_are_judged(judge, subset, complaints):
    assert [str(error) for error in STRATEGY.validate(endpoints(subset), judge())] == complaints


def test_unchanged_subsets_are_left_alone(judge):
    assert STRATEGY.validate_update(endpoints({}), endpoints({}), judge()) == []


def test_the_controller_is_not_warned(judge):
    odd = {"addresses": [{"ip": "01.2.3.4"}]}
    assert len(STRATEGY.warnings_on_create(endpoints(odd), judge())) == 1
    managed = endpoints(odd, **{"endpoints.kubernetes.io/managed-by": "endpoint-controller"})
    assert STRATEGY.warnings_on_create(managed, judge()) == []
