import pytest

from mockkube.apiserver.admission.plugins.pod_security_checks import checks_for

SAFE = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}


def told(level, minor, spec, annotations=None):
    metadata = {"name": "p", "annotations": annotations or {}}
    found = [judge(metadata, spec) for judge in checks_for(level, minor)]
    return [(one.reason, one.detail) for one in found if one is not None]


def containers(*contexts, **rest):
    return {"containers": [{"name": f"c{i}", "securityContext": one} for i, one in enumerate(contexts)], **rest}


@pytest.mark.parametrize(
    ("spec", "finding"),
    [
        pytest.param({"hostNetwork": True, "hostIPC": True}, ("host namespaces", "hostNetwork=true, hostIPC=true")),
        pytest.param({"volumes": [{"name": "v", "hostPath": {}}]}, ("hostPath volumes", 'volume "v"')),
        pytest.param(
            containers({"capabilities": {"add": ["NET_RAW", "CHOWN"]}}, {"capabilities": {"add": ["SYS_TIME"]}}),
            (
                "non-default capabilities",
                'containers "c0", "c1" must not include "NET_RAW", "SYS_TIME" in securityContext.capabilities.add',
            ),
        ),
        pytest.param(
            {"containers": [{"name": "c", "ports": [{"hostPort": 80}, {"hostPort": 8080}]}]},
            ("hostPort", 'container "c" uses hostPorts 80, 8080'),
        ),
        pytest.param(
            {"containers": [{"name": "c", "livenessProbe": {"httpGet": {"host": "h"}}}]},
            ("probe or lifecycle host", 'container "c" uses probe or lifecycle host "h"'),
        ),
        pytest.param(
            containers({"privileged": True}),
            ("privileged", 'container "c0" must not set securityContext.privileged=true'),
        ),
        pytest.param(
            containers({"procMount": "Unmasked"}),
            ("procMount", 'container "c0" must not set securityContext.procMount to "Unmasked"'),
        ),
        pytest.param(
            containers({}, securityContext={"seLinuxOptions": {"type": "odd", "role": "r"}}),
            (
                "seLinuxOptions",
                'pod set forbidden securityContext.seLinuxOptions: type "odd"; role may not be set',
            ),
        ),
        pytest.param(
            containers({"seccompProfile": {"type": "Unconfined"}}),
            (
                "seccompProfile",
                'container "c0" must not set securityContext.seccompProfile.type to "Unconfined"',
            ),
        ),
        pytest.param(
            containers({"appArmorProfile": {"type": "Unconfined"}}),
            (
                "forbidden AppArmor profile",
                'container "c0" must not set AppArmor profile type to "Unconfined"',
            ),
        ),
        pytest.param(
            {"securityContext": {"sysctls": [{"name": "kernel.msgmax"}, {"name": "net.ipv4.tcp_rmem"}]}},
            ("forbidden sysctls", "kernel.msgmax"),
        ),
        pytest.param(
            {"securityContext": {"windowsOptions": {"hostProcess": True}}},
            ("hostProcess", "pod must not set securityContext.windowsOptions.hostProcess=true"),
        ),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_baseline_forbids(spec, finding):
    assert told("baseline", 36, spec) == [finding]


def test_restricted_asks_for_what_must_be_set():
    assert told("restricted", 36, containers({})) == [
        (
            "allowPrivilegeEscalation != false",
            'container "c0" must set securityContext.allowPrivilegeEscalation=false',
        ),
        ("unrestricted capabilities", 'container "c0" must set securityContext.capabilities.drop=["ALL"]'),
        ("runAsNonRoot != true", 'pod or container "c0" must set securityContext.runAsNonRoot=true'),
        (
            "seccompProfile",
            'pod or container "c0" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"',
        ),
    ]


POD_LEVEL = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}


@pytest.mark.parametrize(
    ("spec", "findings"),
    [
        pytest.param(containers(SAFE, securityContext=POD_LEVEL), [], id="nothing of a pod that sets all it must"),
        pytest.param(
            containers({**SAFE, "runAsUser": 0}, securityContext=POD_LEVEL),
            [("runAsUser=0", 'container "c0" must not set runAsUser=0')],
            id="root",
        ),
        pytest.param(
            containers({**SAFE, "runAsNonRoot": False}, securityContext=POD_LEVEL),
            [("runAsNonRoot != true", 'container "c0" must not set securityContext.runAsNonRoot=false')],
            id="a container that takes it back",
        ),
        pytest.param(
            containers(SAFE, securityContext=POD_LEVEL, volumes=[{"name": "v", "nfs": {}}]),
            [("restricted volume types", 'volume "v" uses restricted volume type "nfs"')],
            id="network volumes",
        ),
        pytest.param(
            containers({**SAFE, "runAsUser": 0, "runAsNonRoot": False}, securityContext=POD_LEVEL, hostUsers=False),
            [],
            id="nothing of root in users of its own",
        ),
        pytest.param(
            containers({}, securityContext={"runAsNonRoot": True}, os={"name": "windows"}),
            [],
            id="nothing that Windows does not have",
        ),
    ],
)
def test_restricted_forbids(spec, findings):
    assert told("restricted", 36, spec) == findings


@pytest.mark.parametrize(
    ("minor", "spec", "count"),
    [
        pytest.param(31, {"securityContext": {"sysctls": [{"name": "net.ipv4.tcp_rmem"}]}}, 1, id="not yet allowed"),
        pytest.param(32, {"securityContext": {"sysctls": [{"name": "net.ipv4.tcp_rmem"}]}}, 0, id="allowed since"),
        pytest.param(
            33,
            {"containers": [{"name": "c", "livenessProbe": {"tcpSocket": {"host": "h"}}}]},
            0,
            id="not forbidden",
        ),
        pytest.param(18, containers({"seccompProfile": {"type": "Unconfined"}}), 0, id="a field not yet looked at"),
    ],
)
def test_a_namespace_may_stay_with_an_older_version(minor, spec, count):
    assert len(told("baseline", minor, spec)) == count


def test_the_oldest_versions_looked_at_annotations():
    annotations = {"seccomp.security.alpha.kubernetes.io/pod": "unconfined"}
    detail = 'forbidden annotation seccomp.security.alpha.kubernetes.io/pod="unconfined"'
    assert told("baseline", 18, {"containers": []}, annotations) == [("seccompProfile", detail)]


def test_privileged_forbids_nothing():
    assert checks_for("privileged", 36) == ()


def test_a_gate_relaxes_every_version_for_user_namespaces():
    spec = {
        "hostUsers": False,
        "containers": [{"name": "c", "securityContext": {"runAsUser": 0, "procMount": "Unmasked"}}],
    }

    def list_reasons(level, *, relaxed):
        checks = checks_for(level, 30, relaxes_user_namespaces=relaxed)
        return {found.reason for check in checks if (found := check({}, spec)) is not None}

    root = {"runAsNonRoot != true", "runAsUser=0"}
    assert list_reasons("restricted", relaxed=False) - list_reasons("restricted", relaxed=True) >= root
    assert list_reasons("baseline", relaxed=False) == {"procMount"}
    assert list_reasons("baseline", relaxed=True) == set()
