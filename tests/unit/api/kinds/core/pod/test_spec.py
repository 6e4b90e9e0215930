"""The spec of a pod as a whole."""

import pytest

from mockkube.api.kinds.core.pod.options import PodValidationOptions, pod_validation_options
from mockkube.api.kinds.core.pod.spec import validate_pod_spec
from mockkube.api.validation.extensions import NO_EXTENSIONS
from mockkube.features.capabilities import Capabilities

CONTAINER = {"name": "c", "image": "i", "imagePullPolicy": "Always", "terminationMessagePolicy": "File"}
GOOD = {
    "containers": [CONTAINER],
    "restartPolicy": "Always",
    "dnsPolicy": "ClusterFirst",
    "terminationGracePeriodSeconds": 30,
}


def judge(rules=PodValidationOptions(), meta=None, **spec):  # noqa: B008 - frozen
    errors = validate_pod_spec({**GOOD, **spec}, meta, "spec", rules)
    return [str(error).partition(" (e.g.")[0] for error in errors]


def with_resources(requests=None, **more):
    return {**CONTAINER, "resources": {"requests": requests or {}}, **more}


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        pytest.param({}, [], id="in order"),
        pytest.param({"containers": None}, ["spec.containers: Required value"], id="no containers"),
        pytest.param(
            {"restartPolicy": "Odd"},
            ['spec.restartPolicy: Unsupported value: "Odd": supported values: "Always", "OnFailure", "Never"'],
            id="restart policy",
        ),
        pytest.param({"dnsPolicy": ""}, ["spec.dnsPolicy: Required value"], id="no DNS policy"),
        pytest.param(
            {"dnsPolicy": "None"},
            ["spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None"],
            id="no DNS at all",
        ),
        pytest.param(
            {"dnsConfig": {"nameservers": ["a", "010.0.0.1"]}},
            [
                'spec.dnsConfig.nameservers[0]: Invalid value: "a": must be a valid IP address,',
                'spec.dnsConfig.nameservers[1]: Invalid value: "010.0.0.1": must not have leading 0s',
            ],
            id="odd name servers",
        ),
        pytest.param(
            {"terminationGracePeriodSeconds": None},
            ["spec.terminationGracePeriodSeconds: Required value"],
            id="no grace",
        ),
        pytest.param(
            {"activeDeadlineSeconds": 0},
            ["spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive"],
            id="deadline at once",
        ),
        pytest.param(
            {"hostname": "a.b", "subdomain": "-"},
            [
                'spec.hostname: Invalid value: "a.b": must not contain dots',
                'spec.subdomain: Invalid value: "-": a lowercase RFC 1123 label must consist of lower '
                "case alphanumeric "
                "characters or '-', and must start and end with an alphanumeric character",
            ],
            id="host name",
        ),
        pytest.param(
            {"schedulingGates": [{"name": "a"}, {"name": "a"}]},
            ['spec.schedulingGates[1]: Duplicate value: "a"'],
            id="gates twice",
        ),
        pytest.param(
            {"preemptionPolicy": "Odd"},
            ['spec.preemptionPolicy: Unsupported value: "Odd": supported values: "PreemptLowerPriority", "Never"'],
            id="preemption",
        ),
        pytest.param(
            {"overhead": {"cpu": "-1"}},
            ['spec.overhead.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0'],
            id="overhead",
        ),
        pytest.param(
            {"hostAliases": [{"ip": "x", "hostnames": ["A"]}]},
            [
                'spec.hostAliases[0].ip: Invalid value: "x": must be a valid IP address,',
                'spec.hostAliases[0].hostnames[0]: Invalid value: "A": a lowercase RFC 1123 subdomain '
                "must consist of lower "
                "case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
            ],
            id="aliases",
        ),
        pytest.param(
            {"hostUsers": False, "hostPID": True, "hostNetwork": True},
            [
                "spec.hostNetwork: Forbidden: when `hostUsers` is false",
                "spec.HostPID: Forbidden: when `hostUsers` is false",
            ],
            id="own users, shared host",
        ),
        pytest.param(
            {"hostPID": True, "shareProcessNamespace": True},
            [
                "spec.securityContext.shareProcessNamespace: Invalid value: true: "
                "ShareProcessNamespace and HostPID cannot both be enabled"
            ],
            id="two process namespaces",
        ),
        pytest.param(
            {"hostnameOverride": "A", "setHostnameAsFQDN": True},
            [
                "spec.hostnameOverride: Forbidden: may not be specified when setHostnameAsFQDN is true",
                'spec.hostnameOverride: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case '
                "alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
            ],
            id="host name overridden",
        ),
        pytest.param(
            {"schedulingGroup": {}},
            ["spec.schedulingGroup.podGroupName: Invalid value: null: must specify one of: `podGroupName`"],
            id="group of nobody",
        ),
        pytest.param(
            {"resourceClaims": [{"name": "a"}]},
            [
                'spec.resourceClaims[0]: Invalid value: {"Name":"a","ResourceClaimName":null,'
                '"ResourceClaimTemplateName":null}: must specify one of: `resourceClaimName`, '
                "`resourceClaimTemplateName`"
            ],
            id="claim of nothing",
        ),
        pytest.param(
            {
                "containers": [
                    {
                        **CONTAINER,
                        "env": [
                            {"name": "A", "valueFrom": {"fileKeyRef": {"volumeName": "v", "path": "p", "key": "K"}}}
                        ],
                    }
                ]
            },
            ['spec.containers[0].env[0].valueFrom.fileKeyRef.volumeName: Not found: "v"'],
            id="file in no volume",
        ),
    ],
)
def test_a_spec_is_told_what_is_wrong(spec, says):
    assert judge(**spec) == says


def test_ports_of_a_pod_in_the_hosts_network_are_the_hosts():
    container = {**CONTAINER, "ports": [{"containerPort": 80, "protocol": "TCP"}]}
    text = (
        "spec.containers[0].ports[0].hostPort: Invalid value: 0: must match `containerPort` when `hostNetwork` is true"
    )
    assert judge(containers=[container], hostNetwork=True) == [text]
    assert judge(PodValidationOptions(is_pod=False), containers=[container], hostNetwork=True) == []


def test_a_static_pod_claims_nothing():
    meta = {"name": "p", "annotations": {"kubernetes.io/config.mirror": "x"}}
    assert judge(meta=meta, resourceClaims=[{"name": "a", "resourceClaimName": "b"}]) == [
        ": Forbidden: static pods do not support resource claims"
    ]


def test_a_pod_asks_for_no_less_than_its_containers():
    containers = [with_resources({"cpu": "1"}), with_resources({"cpu": "1"}, name="d")]
    assert judge(containers=containers, resources={"requests": {"cpu": "1500m"}}) == [
        'spec.resources.requests[cpu]: Invalid value: "1500m": '
        "must be greater than or equal to aggregate container requests of 2"
    ]


def test_a_container_is_limited_by_its_pod():
    container = {**CONTAINER, "resources": {"limits": {"cpu": "2"}}}
    assert judge(containers=[container], resources={"limits": {"cpu": "1"}}) == [
        'spec.resources.containers[0][cpu].limits: Invalid value: "2": must be less than or equal to pod limits of 1'
    ]


def test_resources_of_a_pod_wait_for_their_gate():
    rules = pod_validation_options(Capabilities(), NO_EXTENSIONS)
    assert judge(rules, resources={"requests": {"odd": "1"}}) == []


def test_what_was_in_order_by_other_rules_is_judged_anew():
    lenient, strict = PodValidationOptions(relaxed_dns_search=True), PodValidationOptions(relaxed_dns_search=False)
    odd = {"dnsConfig": {"searches": ["_tcp.example.com"]}}
    assert judge(lenient, **odd) == []
    assert judge(strict, **odd) != []
    assert judge(lenient, **odd) == []


def test_what_was_in_order_in_one_pod_is_judged_anew_in_another_if_it_makes_claims():
    claims = {"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "t"}]}
    static = {"name": "p", "annotations": {"kubernetes.io/config.mirror": "x"}}
    assert judge(meta={"name": "p"}, **claims) == []
    assert judge(meta=static, **claims) != []
