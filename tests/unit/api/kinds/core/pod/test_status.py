"""What may be reported about a pod."""

import pytest

from mockkube.api.kinds.core.pod.containers.containers import ContainerValidationOptions
from mockkube.api.kinds.core.pod.options import PodValidationOptions
from mockkube.api.kinds.core.pod.status import validate_pod_status
from mockkube.features.capabilities import Capabilities

ENDED = {"name": "c", "state": {"terminated": {"exitCode": 1}}}
RUNS = {"name": "c", "state": {"running": {}}}


def pod(status, **spec):
    meta = {"name": "p", "namespace": "n", "uid": "u", "resourceVersion": "1"}
    return {
        "metadata": meta,
        "spec": {"containers": [{"name": "c"}], "restartPolicy": "Never", **spec},
        "status": status,
    }


def judge(status, before=None, rules=PodValidationOptions(), gates=(), **spec):  # noqa: B008 - frozen
    caps = Capabilities(gates=frozenset(gates))
    errors = validate_pod_status(pod(status, **spec), pod(before or {}, **spec), rules, caps)
    return [str(error).partition(" (e.g.")[0] for error in errors]


@pytest.mark.parametrize(
    ("status", "says"),
    [
        pytest.param({"conditions": [{"type": "Ready"}, {"type": "a/b"}]}, [], id="conditions"),
        pytest.param(
            {"conditions": [{"type": "a b", "observedGeneration": -1}]},
            [
                "status.conditions[0].observedGeneration: Invalid value: -1: must be a non-negative integer",
                'status.conditions[0].Type: Invalid value: "a b": name part must consist of alphanumeric characters, '
                "'-', '_' or '.', and must start and end with an alphanumeric character",
            ],
            id="odd condition",
        ),
        pytest.param({"podIPs": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}]}, [], id="an address of each family"),
        pytest.param(
            {"podIPs": [{"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}]},
            [
                'status.podIPs: Invalid value: [{"IP":"10.0.0.1"},{"IP":"10.0.0.2"}]: '
                "may specify no more than one IP for each IP family"
            ],
            id="two addresses of a family",
        ),
        pytest.param(
            {"hostIP": "10.0.0.1", "hostIPs": [{"ip": "10.0.0.2"}]},
            ['status.hostIPs[0].ip: Invalid value: "10.0.0.2": must be equal to `hostIP`'],
            id="host addresses that differ",
        ),
        pytest.param(
            {"resourceClaimStatuses": [{"name": "a"}]},
            [
                'status.resourceClaimStatuses[0].name: Invalid value: "a": '
                "must match the name of an entry in `spec.resourceClaims`"
            ],
            id="claim of nobody",
        ),
        pytest.param(
            {"containerStatuses": [{"name": "c", "user": {"linux": {"uid": -1, "gid": 0}}}]},
            [
                "status.containerStatuses[0].user.linux.uid: Invalid value: -1: "
                "must be between 0 and 2147483647, inclusive"
            ],
            id="user",
        ),
        pytest.param(
            {
                "containerStatuses": [
                    {
                        "name": "c",
                        "allocatedResourcesStatus": [
                            {"name": "a.b/c", "resources": [{"resourceID": "r", "health": "Odd", "message": ""}]}
                        ],
                    }
                ]
            },
            [
                'status.containerStatuses[0].allocatedResourcesStatus[0].name: Invalid value: "a.b/c": '
                "must match one of the container's resource requests",
                "status.containerStatuses[0].allocatedResourcesStatus[0].resources[0].health: "
                'Unsupported value: "Odd": supported values: "Healthy", "Unhealthy", "Unknown"',
                "status.containerStatuses[0].allocatedResourcesStatus[0].resources[0].message: "
                "Required value: must be non-empty if specified",
            ],
            id="health of what was not asked for",
        ),
        pytest.param(
            {"nodeAllocatableResourceClaimStatuses": [{"resourceClaimName": "a", "resources": {"a.b/c": "1"}}]},
            [
                'status.nodeAllocatableResourceClaimStatuses[0].resourceClaimName: Invalid value: "a": '
                "no mapping found in pod reference",
                "status.nodeAllocatableResourceClaimStatuses[0].containers: Required value: must not be empty",
                'status.nodeAllocatableResourceClaimStatuses[0].resources[a.b/c]: Invalid value: "a.b/c": '
                "must be a node allocatable resource name",
            ],
            id="claims on the node",
        ),
        pytest.param(
            {"extendedResourceClaimStatus": {"requestMappings": None, "resourceClaimName": "A"}},
            [
                "status.extendedResourceClaimStatus.requestMappings: Required value: "
                "at least one request mapping is required",
                'status.extendedResourceClaimStatus.resourceClaimName: Invalid value: "A": a lowercase RFC 1123 '
                "subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with "
                "an alphanumeric character",
            ],
            id="claim for extended resources",
        ),
    ],
)
def test_a_report_is_told_what_is_wrong(status, says):
    assert judge(status) == says


def test_the_quality_stays():
    assert judge({"qosClass": "Burstable"}, {"qosClass": "BestEffort"}) == [
        'status.qosClass: Invalid value: "Burstable": field is immutable'
    ]


def test_a_bound_pod_is_not_nominated_elsewhere():
    gate = "ClearingNominatedNodeNameAfterBinding"
    assert judge({"nominatedNodeName": "m"}, nodeName="n") == []
    assert judge({"nominatedNodeName": "m"}, nodeName="n", gates=[gate]) == [
        "status.nominatedNodeName: Forbidden: may not be set on pods that are already bound to a node"
    ]


RESTARTED = ["status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state"]
OLD = PodValidationOptions(containers=ContainerValidationOptions(restart_rules=False, restart_all_containers=False))


def container(**fields):
    return {"containers": [{"name": "c", **fields}]}


@pytest.mark.parametrize(
    ("rules", "spec", "says"),
    [
        pytest.param(PodValidationOptions(), {}, RESTARTED, id="never"),
        pytest.param(PodValidationOptions(), {"restartPolicy": "OnFailure"}, [], id="on failure"),
        pytest.param(PodValidationOptions(), container(restartPolicy="Always"), [], id="always, by its own policy"),
        pytest.param(
            PodValidationOptions(),
            container(
                restartPolicy="Never",
                restartPolicyRules=[{"action": "Restart", "exitCodes": {"operator": "In", "values": [1]}}],
            ),
            [],
            id="by its own rule",
        ),
        pytest.param(
            PodValidationOptions(),
            container(
                restartPolicy="Never",
                restartPolicyRules=[{"action": "Restart", "exitCodes": {"operator": "NotIn", "values": [1]}}],
            ),
            RESTARTED,
            id="by a rule for other codes",
        ),
        pytest.param(OLD, container(restartPolicy="Always"), RESTARTED, id="own policies are not known yet"),
    ],
)
def test_a_container_that_ended_runs_again_only_if_its_policy_says_so(rules, spec, says):
    assert judge({"containerStatuses": [RUNS]}, {"containerStatuses": [ENDED]}, rules, **spec) == says


def test_an_ephemeral_container_never_runs_again():
    assert judge(
        {"ephemeralContainerStatuses": [RUNS]}, {"ephemeralContainerStatuses": [ENDED]}, restartPolicy="Always"
    ) == ["status.ephemeralContainerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state"]


def test_addresses_stored_in_an_old_form_stay():
    assert judge({"podIPs": [{"ip": "010.0.0.1"}]}) == [
        'status.podIPs[0]: Invalid value: "010.0.0.1": must not have leading 0s'
    ]
    assert judge({"podIPs": [{"ip": "010.0.0.1"}]}, {"podIPs": [{"ip": "010.0.0.1"}]}) == []


def test_digests_of_images_are_judged_behind_their_gate():
    status = {"containerStatuses": [{"name": "c", "volumeMounts": [{"volumeStatus": {"image": {}}}]}]}
    assert judge(status) == []
    assert judge(status, rules=PodValidationOptions(image_digests=True)) == [
        "status.containerStatuses[0].volumeMounts[0].volumeStatus.imageVolumeStatus.imageRef: "
        "Required value: imageRef must not be empty"
    ]
