import pytest

from mockkube.api.kinds.core.pod.defaults import default_pod
from mockkube.features.capabilities import Capabilities

NO_GATES = Capabilities()


def pod(**spec):
    return {"metadata": {"name": "p"}, "spec": {"containers": [], **spec}, "status": {}}


def container(**fields):
    return {"name": "c", "image": "app:1", "resources": {}, **fields}


def defaulted(obj, *gates):
    default_pod(obj, Capabilities(gates=frozenset(gates)))
    return obj


def only_container(**fields):
    return defaulted(pod(containers=[container(**fields)]))["spec"]["containers"][0]


def test_a_pod_gets_what_every_pod_has():
    assert defaulted(pod(containers=[container()])) == {
        "metadata": {"name": "p"},
        "spec": {
            "containers": [
                {
                    "name": "c",
                    "image": "app:1",
                    "imagePullPolicy": "IfNotPresent",
                    "resources": {},
                    "terminationMessagePath": "/dev/termination-log",
                    "terminationMessagePolicy": "File",
                }
            ],
            "dnsPolicy": "ClusterFirst",
            "enableServiceLinks": True,
            "restartPolicy": "Always",
            "schedulerName": "default-scheduler",
            "securityContext": {},
            "terminationGracePeriodSeconds": 30,
        },
        "status": {},
    }


def test_what_was_chosen_stays():
    chosen = {
        "dnsPolicy": "Default",
        "enableServiceLinks": False,
        "restartPolicy": "Never",
        "schedulerName": "mine",
        "securityContext": {"runAsNonRoot": True},
        "terminationGracePeriodSeconds": 0,
    }
    assert defaulted(pod(**chosen))["spec"] == {"containers": [], **chosen}


def test_a_pod_without_a_list_of_containers_is_still_filled_in():
    assert defaulted(pod(containers=None))["spec"]["dnsPolicy"] == "ClusterFirst"


def test_requests_follow_limits_resource_by_resource():
    resources = {"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "1"}}
    assert only_container(resources=resources)["resources"]["requests"] == {"cpu": "1", "memory": "1Gi"}


def test_ephemeral_containers_request_nothing():
    obj = defaulted(pod(ephemeralContainers=[container(resources={"limits": {"cpu": "1"}})]))
    assert obj["spec"]["ephemeralContainers"][0]["resources"] == {"limits": {"cpu": "1"}}


@pytest.mark.parametrize("where", ["containers", "initContainers", "ephemeralContainers"])
def test_containers_of_all_sorts_are_filled_in(where):
    obj = defaulted(pod(**{where: [container(image="app", ports=[{"containerPort": 80}])]}))
    filled = obj["spec"][where][0]
    assert filled["imagePullPolicy"] == "Always"
    assert filled["ports"] == [{"containerPort": 80, "protocol": "TCP"}]


def test_on_the_host_network_ports_are_those_of_the_host():
    ports = [{"containerPort": 80}, {"containerPort": 81, "hostPort": 9081}, {"containerPort": 0}]
    obj = defaulted(pod(hostNetwork=True, containers=[container(ports=ports)]))
    filled = obj["spec"]["containers"][0]["ports"]
    assert [port.get("hostPort") for port in filled] == [80, 9081, None]


def test_off_the_host_network_ports_stay_inside():
    assert only_container(ports=[{"containerPort": 80}])["ports"] == [{"containerPort": 80, "protocol": "TCP"}]


@pytest.mark.parametrize(
    ("given", "filled"),
    [
        pytest.param(
            {"httpGet": {"port": 80}}, {"httpGet": {"port": 80, "path": "/", "scheme": "HTTP"}}, id="over http"
        ),
        pytest.param({"grpc": {"port": 9, "service": None}}, {"grpc": {"port": 9, "service": ""}}, id="over grpc"),
        pytest.param({"exec": {"command": ["x"]}}, {"exec": {"command": ["x"]}}, id="a command"),
    ],
)
@pytest.mark.parametrize("probe", ["livenessProbe", "readinessProbe", "startupProbe"])
def test_probes_get_their_numbers(probe, given, filled):
    numbers = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
    assert only_container(**{probe: given})[probe] == {**filled, **numbers}


def test_lifecycle_hooks_get_a_path_and_a_scheme():
    lifecycle = {"postStart": {"exec": {}}, "preStop": {"httpGet": {"port": 1, "scheme": "HTTPS"}}}
    assert only_container(lifecycle=lifecycle)["lifecycle"] == {
        "postStart": {"exec": {}},
        "preStop": {"httpGet": {"port": 1, "path": "/", "scheme": "HTTPS"}},
    }


def test_references_in_the_environment_are_completed():
    env = [
        {"name": "A", "value": "1"},
        {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        {"name": "C", "valueFrom": {"fileKeyRef": {"volumeName": "v", "path": "p", "key": "k"}}},
    ]
    filled = only_container(env=env)["env"]
    assert filled[1]["valueFrom"]["fieldRef"]["apiVersion"] == "v1"
    assert filled[2]["valueFrom"]["fileKeyRef"]["optional"] is False


def test_a_negative_grace_period_becomes_a_second():
    assert defaulted(pod(terminationGracePeriodSeconds=-5))["spec"]["terminationGracePeriodSeconds"] == 1


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        pytest.param({"pod.beta.kubernetes.io/init-containers": "[]"}, None, id="none is left"),
        pytest.param({"pod.alpha.kubernetes.io/init-container-statuses": "[]", "a": "b"}, {"a": "b"}, id="others stay"),
        pytest.param({"a": "b"}, {"a": "b"}, id="none was there"),
    ],
)
def test_annotations_of_old_init_containers_are_dropped(given, kept):
    obj = defaulted({**pod(), "metadata": {"name": "p", "annotations": given}})
    assert obj["metadata"].get("annotations") == kept


@pytest.mark.parametrize(
    ("given", "name"),
    [
        pytest.param({"serviceAccount": "old"}, "old", id="by the old name"),
        pytest.param({"serviceAccountName": "new"}, "new", id="by the new name"),
        pytest.param({"serviceAccount": "old", "serviceAccountName": "new"}, "new", id="the new name wins"),
    ],
)
def test_the_service_account_has_two_names(given, name):
    spec = defaulted(pod(**given))["spec"]
    assert (spec["serviceAccountName"], spec["serviceAccount"]) == (name, name)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        pytest.param({"podIP": "10.0.0.1"}, ["10.0.0.1"], id="only the one"),
        pytest.param({"podIPs": [{"ip": "10.0.0.1"}, {"ip": "fd::1"}]}, ["10.0.0.1", "fd::1"], id="only the list"),
        pytest.param({"podIP": "10.0.0.2", "podIPs": [{"ip": "10.0.0.1"}]}, ["10.0.0.2"], id="the one wins"),
    ],
)
def test_the_address_and_the_list_of_addresses_agree(given, kept):
    status = defaulted({**pod(), "status": given})["status"]
    assert status["podIP"] == kept[0]
    assert [address["ip"] for address in status["podIPs"]] == kept


def test_amounts_in_the_status_are_rounded():
    status = {
        "containerStatuses": [{"allocatedResources": {"cpu": "1u"}, "resources": {"limits": {"cpu": "1n"}}}],
        "resources": {"requests": {"cpu": "1u"}},
    }
    assert defaulted({**pod(), "status": status})["status"] == {
        "containerStatuses": [{"allocatedResources": {"cpu": "1m"}, "resources": {"limits": {"cpu": "1m"}}}],
        "resources": {"requests": {"cpu": "1m"}},
    }


def test_overhead_is_rounded():
    assert defaulted(pod(overhead={"cpu": "1u"}))["spec"]["overhead"] == {"cpu": "1m"}


def test_http_probes_name_their_protocol_only_with_the_gate():
    def probe(*gates):
        obj = pod(containers=[container(livenessProbe={"httpGet": {"port": 80}}, lifecycle={"preStop": {"exec": {}}})])
        return defaulted(obj, *gates)["spec"]["containers"][0]["livenessProbe"]["httpGet"]

    assert "protocol" not in probe()
    assert probe("H2CContainerProbe")["protocol"] == "HTTP1"


def test_resources_of_the_whole_pod_wait_for_admission_where_that_sees_all_containers():
    def requests(*gates):
        return defaulted(pod(resources={"limits": {"cpu": "1"}}), *gates)["spec"]["resources"].get("requests")

    assert requests() is None
    assert requests("PodLevelResources") == {"cpu": "1"}
    assert requests("PodLevelResources", "PodLevelResourcesFixDefaulting") is None
