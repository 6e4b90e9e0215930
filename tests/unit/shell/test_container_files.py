"""Files of a container: volumes with their modes and owners, as commands in the container see them."""

import base64
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from mockkube.shell.containers.container_start import ContainerStart
from mockkube.shell.containers.interpreter import ContainerEnd, interpret

BEGAN = datetime(2030, 1, 1, tzinfo=UTC)
AGNHOST = "registry.k8s.io/e2e-test-images/agnhost:2.59"
OBJECTS: dict[tuple[str, str, str], dict[str, Any]] = {
    ("ConfigMap", "ns", "settings"): {
        "data": {"a": "value-1", "b": "value-2"},
        "binaryData": {"dump.bin": base64.b64encode(b"\xde\xca\xfe\xba\xd0\xfe\xff").decode()},
    },
    ("Secret", "ns", "keys"): {"data": {"key": base64.b64encode(b"secret\n").decode()}},
    ("Node", "", "n1"): {"status": {"allocatable": {"cpu": "4", "memory": "16Gi"}}},
    ("Service", "kube-system", "kube-dns"): {"spec": {"clusterIP": "10.96.0.10"}},
}
START = ContainerStart(began=BEGAN, lookup=lambda *key: OBJECTS.get(key))
SETTINGS = {"configMap": {"name": "settings", "defaultMode": 0o644}}
CONTENT = "mount-tester new file\n"


def make_pod(containers: list[dict[str, Any]], volume: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    metadata = {
        "name": "p",
        "namespace": "ns",
        "uid": "u1",
        "labels": {"app": "web", "tier": "1"},
        "annotations": {"note": 'with "quotes"'},
    }
    for one in (*containers, *spec.get("initContainers", ())):
        one.setdefault("name", "main")
        one.setdefault("image", "busybox")
        if volume is not None:
            one.setdefault("volumeMounts", [{"name": "v", "mountPath": "/v"}])
    volumes = [{"name": "v", **volume}] if volume is not None else []
    status = {"podIP": "10.244.0.7", "podIPs": [{"ip": "10.244.0.7"}], "hostIP": "172.18.0.2"}
    return {
        "metadata": metadata,
        "spec": {"containers": containers, "volumes": volumes, "nodeName": "n1", **spec},
        "status": status,
    }


def run(pod: dict[str, Any], start: ContainerStart = START, until: float = 1000.0) -> tuple[str, int | None]:
    """Return the log of the first container and its exit code; None if it does not end."""
    result = interpret(pod, pod["spec"]["containers"][0], start, until=until)
    log = "".join(one.text for one in result.printed)
    assert result.end is not ContainerEnd.UNKNOWN, log
    return log, result.code if result.end is ContainerEnd.EXITS else None


def mounttest(*flags: str) -> dict[str, Any]:
    return {"image": AGNHOST, "args": ["mounttest", *flags]}


def shell(script: str, **fields: Any) -> dict[str, Any]:
    return {"command": ["sh", "-c", script], **fields}


@pytest.mark.parametrize(
    ("volume", "flags", "log"),
    [
        pytest.param(SETTINGS, ["--file_content=/v/a"], 'content of file "/v/a": value-1\n', id="a key"),
        pytest.param(SETTINGS, ["--file_mode=/v/a"], 'mode of file "/v/a": -rw-r--r--\n', id="the default mode"),
        pytest.param(
            {"configMap": {"name": "settings", "items": [{"key": "b", "path": "x/y", "mode": 0o400}]}},
            ["--file_mode=/v/x/y", "--file_content=/v/x/y"],
            'mode of file "/v/x/y": -r--------\ncontent of file "/v/x/y": value-2\n',
            id="an item with a mode",
        ),
        pytest.param(
            {"secret": {"secretName": "keys", "defaultMode": 0o400}},
            ["--file_content=/v/key", "--file_mode", "/v/key"],
            'mode of file "/v/key": -r--------\ncontent of file "/v/key": secret\n\n',
            id="a secret",
        ),
        pytest.param(
            {"downwardAPI": {"items": [{"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]}},
            ["--file_content=/v/labels"],
            'content of file "/v/labels": app="web"\ntier="1"\n',
            id="labels",
        ),
        pytest.param(
            {"downwardAPI": {"items": [{"path": "n", "fieldRef": {"fieldPath": "metadata.annotations"}}]}},
            ["--file_content=/v/n"],
            'content of file "/v/n": note="with \\"quotes\\""\n',
            id="annotations",
        ),
        pytest.param(
            {
                "downwardAPI": {
                    "items": [{"path": "cpu", "resourceFieldRef": {"containerName": "main", "resource": "limits.cpu"}}]
                }
            },
            ["--file_content=/v/cpu"],
            'content of file "/v/cpu": 4\n',
            id="the node's CPUs where there is no limit",
        ),
        pytest.param(
            {
                "projected": {
                    "defaultMode": 0o644,
                    "sources": [
                        {"configMap": {"name": "settings", "items": [{"key": "a", "path": "one"}]}},
                        {"secret": {"name": "keys", "items": [{"key": "key", "path": "two"}]}},
                        {"downwardAPI": {"items": [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]}},
                    ],
                }
            },
            ["--file_content=/v/name", "--file_mode=/v/two"],
            'mode of file "/v/two": -rw-r--r--\ncontent of file "/v/name": p\n',
            id="projected",
        ),
        pytest.param(
            {"emptyDir": {"medium": "Memory"}},
            ["--fs_type=/v", "--file_perm=/v"],
            'mount type of "/v": tmpfs\nperms of file "/v": -rwxrwxrwx\n',
            id="a directory in memory",
        ),
        pytest.param(
            {"emptyDir": {}},
            ["--new_file_0660=/v/x", "--file_perm=/v/x", "--file_owner=/v/x"],
            f'content of file "/v/x": {CONTENT}\nperms of file "/v/x": -rw-rw----\n'
            'owner UID of "/v/x": 0\nowner GID of "/v/x": 0\n',
            id="a new file",
        ),
        pytest.param(
            {"emptyDir": {}},
            ["--file_content_in_loop=/v/x", "--retry_time=3"],
            "Error reading file /v/x: open /v/x: no such file or directory, retrying\n" * 2,
            id="a file that does not come",
        ),
    ],
)
def test_mounttest_prints_what_is_in_a_volume(volume: dict[str, Any], flags: list[str], log: str) -> None:
    assert run(make_pod([mounttest(*flags)], volume))[0] == log


@pytest.mark.parametrize(
    ("volume", "security", "flags", "log", "code"),
    [
        pytest.param(
            {"secret": {"secretName": "keys", "defaultMode": 0o440}},
            {"runAsUser": 1000, "fsGroup": 1001},
            ["--file_content=/v/key", "--file_mode=/v/key"],
            'mode of file "/v/key": -r--r-----\ncontent of file "/v/key": secret\n\n',
            0,
            id="the group of the pod may read",
        ),
        pytest.param(
            {"secret": {"secretName": "keys", "defaultMode": 0o400}},
            {"runAsUser": 1000},
            ["--file_content=/v/key"],
            'error reading file content for "/v/key": open /v/key: permission denied\n',
            1,
            id="others may not",
        ),
        pytest.param(
            {"emptyDir": {}},
            {"runAsUser": 1001, "fsGroup": 123},
            ["--new_file_0644=/v/x", "--file_mode=/v", "--file_owner=/v/x"],
            f'content of file "/v/x": {CONTENT}\nmode of file "/v": dgrwxrwxrwx\n'
            'owner UID of "/v/x": 1001\nowner GID of "/v/x": 123\n',
            0,
            id="new files have the group of the pod",
        ),
        pytest.param(
            SETTINGS,
            {},
            ["--new_file_0644=/v/x"],
            'error writing new file "/v/x": open /v/x: read-only file system\n',
            1,
            id="read-only",
        ),
    ],
)
def test_owners_and_modes_decide(
    volume: dict[str, Any], security: dict[str, Any], flags: list[str], log: str, code: int
) -> None:
    assert run(make_pod([mounttest(*flags)], volume, securityContext=security)) == (log, code)


@pytest.mark.parametrize(
    ("script", "log"),
    [
        pytest.param("cat /etc/hostname", "p\n", id="host name"),
        pytest.param("grep ^10.244 /etc/hosts", "10.244.0.7\tp\n", id="hosts"),
        pytest.param("tail -3 /etc/resolv.conf | head -n 1 | wc -w", "4\n", id="DNS"),
        pytest.param("cat /v/a; echo; ls /v", "value-1\na\nb\ndump.bin\n", id="a volume"),
        pytest.param("wc -l /etc/hostname | awk '{print $1}'", "1\n", id="lines"),
        pytest.param("stat -c '%a %u:%g %n' /v/a", "644 0:0 /v/a\n", id="stat"),
        pytest.param("hexdump -C /v/dump.bin | cut -d ' ' -f 3", "de\n00000007\n", id="bytes"),
        pytest.param("mkdir /tmp/d; echo x > /tmp/d/f; find /tmp/d -type f", "/tmp/d/f\n", id="a directory"),
        pytest.param("echo x > /tmp/f; ls -l /tmp | awk '{print $1, $NF}'", "-rw-r--r-- f\n", id="a list"),
        pytest.param("echo a > /tmp/a; mv /tmp/a /tmp/b; [ -f /tmp/a ] || cat /tmp/b", "a\n", id="a moved file"),
        pytest.param("rm -f /etc/x; test -e /etc/x || echo gone", "gone\n", id="a removed file of the image"),
        pytest.param("touch /tmp/a; mv -v /tmp/a /tmp/b", "renamed '/tmp/a' -> '/tmp/b'\n", id="a move is printed"),
        pytest.param("echo b > /v/new", "sh: can't create /v/new: Read-only file system\n", id="no writing"),
        pytest.param("cat /v/none", "cat: can't open '/v/none': No such file or directory\n", id="no such file"),
        pytest.param("id -u; id -G", "0\n0\n", id="root"),
        pytest.param("id", "uid=0(root) gid=0(root) groups=0(root)\n", id="all of them"),
        pytest.param("touch file; ls -l /file | awk '{print $3}'", "root\n", id="a relative path"),
        pytest.param("printf 'b 2\\na 1\\n' | sort | awk '{print $2 \"=\" $1}'", "1=a\n2=b\n", id="sort"),
        pytest.param("echo a,b,c | cut -d, -f2; echo x y | tr ' ' '-'", "b\nx-y\n", id="cut and tr"),
        pytest.param("if [ -x /v/a ]; then echo no; elif [ -d /v ]; then echo yes; fi", "yes\n", id="conditions"),
        pytest.param("echo t > /tmp/t; ln -s /tmp/t /tmp/l; cat /tmp/l", "t\n", id="a link"),
        pytest.param("touch /tmp/t; chmod 400 /tmp/t; stat -c %a /tmp/t", "400\n", id="a changed mode"),
    ],
)
def test_programs_see_the_files_of_the_container(script: str, log: str) -> None:
    assert run(make_pod([shell(script)], SETTINGS))[0] == log


def test_containers_of_a_pod_share_an_empty_directory() -> None:
    writer = shell("sleep 5; echo hello > /v/x; sleep 600", name="writer")
    reader = shell("while [ ! -f /v/x ]; do sleep 1; done; cat /v/x")
    result = interpret(make_pod([reader, writer], {"emptyDir": {}}), reader, START)
    assert (result.end, result.seconds, result.printed[0].text) == (ContainerEnd.EXITS, 5.0, "hello\n")


def test_init_containers_leave_files_for_the_others() -> None:
    first = shell("echo one > /v/x", name="first")
    second = shell("echo $(cat /v/x) two > /v/y", name="second")
    pod = make_pod([shell("cat /v/y")], {"emptyDir": {}}, initContainers=[first, second])
    assert run(pod) == ("one two\n", 0)


def test_a_container_that_does_unknown_things_makes_a_shared_directory_unknown() -> None:
    other = {"name": "other", "image": "example.com/app"}
    reader = shell("test -f /v/x")
    result = interpret(make_pod([reader, other], {"emptyDir": {}}), reader, START)
    assert result.end is ContainerEnd.UNKNOWN


@pytest.mark.parametrize(
    ("mount", "script", "log"),
    [
        pytest.param({"subPath": "a"}, "cat /v", "value-1", id="a file"),
        pytest.param({"subPathExpr": "$(KEY)"}, "cat /v", "value-2", id="a file by a variable"),
        pytest.param({"readOnly": True}, "ls /v/a", "/v/a\n", id="read-only"),
    ],
)
def test_a_part_of_a_volume_can_be_mounted(mount: dict[str, Any], script: str, log: str) -> None:
    mounts = [{"name": "v", "mountPath": "/v", **mount}]
    pod = make_pod([shell(script, volumeMounts=mounts, env=[{"name": "KEY", "value": "b"}])], SETTINGS)
    assert run(pod)[0] == log


def test_a_read_only_root_file_system_refuses_writes_but_volumes_take_them() -> None:
    container = shell(
        "echo a > /file; echo b > /v/file && cat /v/file", securityContext={"readOnlyRootFilesystem": True}
    )
    assert run(make_pod([container], {"emptyDir": {}}))[0] == "sh: can't create /file: Read-only file system\nb\n"


def test_without_lookups_the_content_of_volumes_is_unknown() -> None:
    pod = make_pod([mounttest("--file_content=/v/a")], SETTINGS)
    result = interpret(pod, pod["spec"]["containers"][0], replace(START, lookup=None))
    assert result.end is ContainerEnd.UNKNOWN


@pytest.mark.parametrize(
    ("spec", "lines"),
    [
        pytest.param(
            {"hostAliases": [{"ip": "1.2.3.4", "hostnames": ["a", "b"]}]},
            ["10.244.0.7\tp", "", "# Entries added by HostAliases.", "1.2.3.4\ta\tb"],
            id="aliases",
        ),
        pytest.param(
            {"hostname": "h", "subdomain": "s"}, ["10.244.0.7\th.s.ns.svc.cluster.local\th"], id="a subdomain"
        ),
        pytest.param({"hostNetwork": True}, ["172.18.0.2\tn1"], id="the host's network"),
    ],
)
def test_hosts_lists_names_of_the_pod(spec: dict[str, Any], lines: list[str]) -> None:
    log, _ = run(make_pod([shell("cat /etc/hosts")], **spec))
    assert log.splitlines()[-len(lines) :] == lines
    managed = (
        "# Kubernetes-managed hosts file (host network)."
        if spec.get("hostNetwork")
        else "# Kubernetes-managed hosts file."
    )
    assert log.splitlines()[0] == managed


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        pytest.param(
            {},
            "search ns.svc.cluster.local svc.cluster.local cluster.local\nnameserver 10.96.0.10\noptions ndots:5\n",
            id="the cluster's",
        ),
        pytest.param({"dnsPolicy": "Default"}, "nameserver 172.18.0.1\n", id="the node's"),
        pytest.param(
            {
                "dnsPolicy": "None",
                "dnsConfig": {
                    "nameservers": ["1.1.1.1"],
                    "searches": ["resolv.conf.local"],
                    "options": [{"name": "ndots", "value": "2"}],
                },
            },
            "search resolv.conf.local\nnameserver 1.1.1.1\noptions ndots:2\n",
            id="the pod's own",
        ),
    ],
)
def test_resolv_conf_follows_the_dns_policy(spec: dict[str, Any], text: str) -> None:
    assert run(make_pod([shell("cat /etc/resolv.conf")], **spec))[0] == text
    servers = {"image": AGNHOST, "args": ["dns-server-list"]}
    expected = text.partition("nameserver ")[2].partition("\n")[0]
    assert run(make_pod([servers], **spec))[0] == f"{expected}\n"


def test_the_hosts_file_of_the_node_can_be_mounted() -> None:
    container = shell("tail -1 /etc/hosts; cat /etc/hosts-original | grep -c managed")
    container["volumeMounts"] = [{"name": "v", "mountPath": path} for path in ("/etc/hosts", "/etc/hosts-original")]
    assert run(make_pod([container], {"hostPath": {"path": "/etc/hosts"}}))[0] == "172.18.0.2\tn1\n0\n"


def test_an_image_can_be_mounted_as_a_volume() -> None:
    volume = {"image": {"reference": "registry.k8s.io/e2e-test-images/kitten:1.8"}}
    log, _ = run(make_pod([shell("cat /v/data.json; echo x > /v/new")], volume))
    assert ("kitten.jpg" in log, "Read-only file system" in log) == (True, True)
    result = interpret(make_pod([shell("cat /v/else")], volume), shell("cat /v/else", name="main"), START)
    assert result.end is ContainerEnd.UNKNOWN


NOT_PERMITTED = "ip: RTNETLINK answers: Operation not permitted\n"
GROUP = ("cpu.max", "cpu.weight", "memory.max")


@pytest.mark.parametrize(
    ("resources", "pod_limits", "files"),
    [
        pytest.param({}, {}, ("max 100000", "1", "max"), id="best effort"),
        pytest.param({"requests": {"cpu": "100m"}}, {}, ("max 100000", "17", "max"), id="a request"),
        pytest.param({"requests": {"cpu": "1"}}, {}, ("max 100000", "100", "max"), id="the default weight"),
        pytest.param({"limits": {"cpu": "20m"}}, {}, ("2000 100000", "6", "max"), id="a limit without a request"),
        pytest.param({"limits": {"cpu": "5m"}}, {}, ("1000 100000", "2", "max"), id="the smallest quota"),
        pytest.param({"limits": {"memory": "1Mi"}}, {}, ("max 100000", "1", "1048576"), id="memory"),
        pytest.param({"requests": {"cpu": "300"}}, {}, ("max 100000", "10000", "max"), id="the largest weight"),
        pytest.param({}, {"cpu": "1", "memory": "2Ki"}, ("100000 100000", "100", "2048"), id="limits of the pod"),
    ],
)
def test_the_control_group_has_the_resources_of_the_container(resources, pod_limits, files):
    command = ["sh", "-c", "; ".join(f"cat /sys/fs/cgroup/{name}" for name in GROUP)]
    pod = make_pod([{"command": command, "resources": resources}], resources={"limits": pod_limits})
    assert run(pod) == ("".join(f"{text}\n" for text in files), 0)


def test_the_control_group_lags_behind_the_spec_like_the_status():
    pod = make_pod([{"command": ["cat", "/sys/fs/cgroup/cpu.max"], "resources": {"limits": {"cpu": "2"}}}])
    pod["status"]["containerStatuses"] = [{"name": "main", "resources": {"limits": {"cpu": "1"}}}]
    assert run(pod) == ("100000 100000\n", 0)


def test_control_groups_are_mounted():
    log, code = run(make_pod([{"command": ["sh", "-c", "mount -t cgroup2"]}]))
    assert "on /sys/fs/cgroup type cgroup2" in log
    assert code == 0


@pytest.mark.parametrize(
    ("security", "outcome"),
    [
        pytest.param({}, (NOT_PERMITTED, 2), id="by default"),
        pytest.param({"privileged": True}, ("", 0), id="privileged"),
        pytest.param({"capabilities": {"add": ["NET_ADMIN"]}}, ("", 0), id="with the capability"),
        pytest.param({"capabilities": {"add": ["CHOWN"]}}, (NOT_PERMITTED, 2), id="with another"),
        pytest.param({"privileged": True, "runAsUser": 1}, (NOT_PERMITTED, 2), id="no root"),
    ],
)
def test_interfaces_are_added_with_a_capability(security, outcome):
    command = ["sh", "-c", "ip link add dummy0 type dummy"]
    assert run(make_pod([{"command": command, "securityContext": security}])) == outcome


@pytest.mark.parametrize(
    ("security", "uid"),
    [
        pytest.param({"runAsUser": 1000}, 0, id="by default"),
        pytest.param({"runAsUser": 1000, "allowPrivilegeEscalation": True}, 0, id="allowed"),
        pytest.param({"runAsUser": 1000, "allowPrivilegeEscalation": False}, 1000, id="not allowed"),
    ],
)
def test_a_setuid_program_gains_privileges(security, uid):
    image = "registry.k8s.io/e2e-test-images/nonewprivs:1.4"
    assert run(make_pod([{"image": image, "securityContext": security}])) == (f"Effective uid: {uid}\n", 0)
