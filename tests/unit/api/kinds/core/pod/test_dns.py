"""How a pod resolves names."""

import pytest

from mockkube.api.kinds.core.pod.dns import validate_dns_config


def judge(config, relaxed=True, policy="ClusterFirst"):
    spec = {"dnsPolicy": policy, "dnsConfig": config}
    errors = validate_dns_config(spec, "d", relaxed=relaxed, strict_addresses=True)
    return [str(error).partition(" (e.g.")[0] for error in errors]


@pytest.mark.parametrize(
    ("config", "says"),
    [
        pytest.param({"nameservers": ["10.0.0.1"], "searches": ["a.b.", "_c", "."]}, [], id="in order"),
        pytest.param(
            {"nameservers": ["10.0.0.1"] * 4},
            [
                'd.nameservers: Invalid value: ["10.0.0.1","10.0.0.1","10.0.0.1","10.0.0.1"]: '
                "must not have more than 3 nameservers"
            ],
            id="four servers",
        ),
        pytest.param({"options": [{"value": "1"}]}, ["d.options[0]: Required value: must not be empty"], id="option"),
    ],
)
def test_settings(config, says):
    assert judge(config) == says


def test_searches_are_short_and_few():
    texts = [error.rpartition(": ")[2] for error in judge({"searches": ["a" * 63] * 33})]
    assert texts == [
        "must not have more than 32 search paths",
        "must not have more than 2048 characters (including spaces) in the search list",
    ]


def test_underscores_are_known_where_searches_are_relaxed():
    assert judge({"searches": ["_c"]}, relaxed=False)[0].startswith('d.searches[0]: Invalid value: "_c"')


def test_a_pod_without_policy_names_a_server():
    assert judge({}, policy="None") == [
        "d.nameservers: Required value: must provide at least one DNS nameserver when `dnsPolicy` is None"
    ]
