"""Security contexts, and what an operating system allows."""

import pytest

from mockkube.api.kinds.core.pod.containers.security import (
    uses_host_sysctls,
    validate_os,
    validate_pod_security_context,
    validate_security_context,
)


def container(context, host_users=True):
    return [str(error) for error in validate_security_context(context, "s", host_users=host_users)]


def pod(context, allow_host_sysctls=False, **spec):
    errors = validate_pod_security_context(
        {"securityContext": context, **spec}, "s", only_recursive_labels=True, allow_host_sysctls=allow_host_sysctls
    )
    return [str(error) for error in errors]


@pytest.mark.parametrize(
    ("context", "says"),
    [
        pytest.param({"runAsUser": 0, "runAsGroup": 2147483647, "procMount": "Default"}, [], id="in order"),
        pytest.param(
            {"runAsUser": -1},
            ["s.runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive"],
            id="user",
        ),
        pytest.param(
            {"procMount": "Odd"},
            ['s.procMount: Unsupported value: "Odd": supported values: "Default", "Unmasked"'],
            id="unknown /proc",
        ),
        pytest.param(
            {"procMount": "Unmasked"},
            ['s.procMount: Invalid value: "Unmasked": `hostUsers` must be false to use `Unmasked`'],
            id="/proc of the host's users",
        ),
        pytest.param(
            {"allowPrivilegeEscalation": False, "capabilities": {"add": ["CAP_SYS_ADMIN"]}},
            [
                's: Invalid value: {"Capabilities":{"Add":["CAP_SYS_ADMIN"],"Drop":null},"Privileged":null,'
                '"SELinuxOptions":null,"WindowsOptions":null,"RunAsUser":null,"RunAsGroup":null,"RunAsNonRoot":null,'
                '"ReadOnlyRootFilesystem":null,"AllowPrivilegeEscalation":false,"ProcMount":null,'
                '"SeccompProfile":null,"AppArmorProfile":null}: '
                "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
            ],
            id="no escalation, but all powers",
        ),
    ],
)
def test_contexts_of_containers(context, says):
    assert container(context) == says


def test_users_of_its_own_let_a_pod_unmask_proc():
    assert container({"procMount": "Unmasked"}, host_users=False) == []


@pytest.mark.parametrize(
    ("context", "says"),
    [
        pytest.param(
            {"fsGroup": 1, "fsGroupChangePolicy": "Always", "supplementalGroupsPolicy": "Strict"}, [], id="good"
        ),
        pytest.param(
            {"supplementalGroups": [1, -1]},
            ["s.supplementalGroups[1]: Invalid value: -1: must be between 0 and 2147483647, inclusive"],
            id="group",
        ),
        pytest.param(
            {"fsGroupChangePolicy": "Odd"},
            ['s.fsGroupChangePolicy: Unsupported value: "Odd": supported values: "Always", "OnRootMismatch"'],
            id="unknown change of groups",
        ),
        pytest.param(
            {"seLinuxChangePolicy": "MountOption"},
            ['s.seLinuxChangePolicy: Unsupported value: "MountOption": supported values: "Recursive"'],
            id="labels by mounting, which is not known yet",
        ),
        pytest.param(
            {"sysctls": [{"name": "a"}, {"name": "a"}]}, ['s.sysctls[1].name: Duplicate value: "a"'], id="twice"
        ),
        pytest.param(
            {"sysctls": [{"name": "A"}]},
            [
                's.sysctls[0].name: Invalid value: "A": must have at most 253 characters and match regex '
                r"^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$"
            ],
            id="odd name",
        ),
    ],
)
def test_contexts_of_pods(context, says):
    assert pod(context) == says


@pytest.mark.parametrize(
    ("name", "shared", "refused"),
    [
        pytest.param("net.ipv4.ip_forward", "hostNetwork", True, id="network"),
        pytest.param("net/ipv4/ip_forward", "hostNetwork", True, id="network, with slashes"),
        pytest.param("kernel.shmmax", "hostIPC", True, id="memory"),
        pytest.param("fs.mqueue.msg_max", "hostIPC", True, id="queues"),
        pytest.param("kernel.shmmax", "hostNetwork", False, id="memory is no network"),
    ],
)
def test_a_pod_does_not_change_what_it_shares_with_its_host(name, shared, refused):
    context = {"sysctls": [{"name": name, "value": "1"}]}
    assert bool(pod(context, **{shared: True})) is refused
    assert uses_host_sysctls({"securityContext": context, shared: True}) is refused
    assert pod(context, allow_host_sysctls=True, **{shared: True}) == []


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        pytest.param({"os": {"name": "linux"}}, [], id="linux"),
        pytest.param({"os": {}}, ["spec.os.name: Required value"], id="no name"),
        pytest.param(
            {"os": {"name": "beos"}},
            ['spec.os: Unsupported value: "beos": supported values: "linux", "windows"'],
            id="unknown",
        ),
        pytest.param(
            {"os": {"name": "linux"}, "containers": [{"securityContext": {"windowsOptions": {}}}]},
            [
                "spec.containers[0].securityContext.windowsOptions: Forbidden: "
                "windows options cannot be set for a linux pod"
            ],
            id="windows options on linux",
        ),
        pytest.param(
            {
                "os": {"name": "windows"},
                "hostPID": True,
                "securityContext": {"fsGroup": 1},
                "containers": [{"securityContext": {"privileged": False}}],
            },
            [
                "spec.hostPID: Forbidden: cannot be set for a windows pod",
                "spec.securityContext.fsGroup: Forbidden: cannot be set for a windows pod",
                "spec.containers[0].securityContext.privileged: Forbidden: cannot be set for a windows pod",
            ],
            id="linux options on windows",
        ),
    ],
)
def test_operating_systems(spec, says):
    assert [str(error) for error in validate_os(spec, "spec")] == says
