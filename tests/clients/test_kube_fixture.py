"""The fixture `kube`: objects, waiting, time, faults and recorded requests, from synchronous and asynchronous code."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import kubernetes
import pytest
import urllib3
import uvloop

from mockkube.api.errors import Invalid
from mockkube.testing import MockKube
from mockkube.testing.errors import RealTimeError, UnknownKindError, WaitTimeoutError

BARE = pytest.mark.mockkube(without=["scheduler", "controllers", "kubelets"])
VIRTUAL = pytest.mark.mockkube(nodes=1, clock="virtual")
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web", "labels": {"app": "web"}},
    "spec": {"containers": [{"name": "web", "image": "nginx"}]},
}
WIDGETS = """
apiVersion: example.dev/v1
kind: Widget
metadata: {name: first}
spec: {size: 1}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.dev}
spec:
  group: example.dev
  scope: Namespaced
  names: {kind: Widget, plural: widgets}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: &any {type: object, properties: {
      spec: {type: object, properties: {size: {type: integer}}}}}}}
  - {name: v1beta1, served: true, storage: false, schema: {openAPIV3Schema: *any}}
"""


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


@pytest.fixture
def core(kube: MockKube) -> Iterator[Any]:
    """Client of the core group."""
    with kube.api_client() as client:
        yield kubernetes.client.CoreV1Api(client)


@BARE
class TestApply:
    def test_a_crd_comes_before_its_objects_and_is_established(self, kube: MockKube) -> None:
        definition, widget = kube.apply(WIDGETS)
        assert {one["type"]: one["status"] for one in definition["status"]["conditions"]}["Established"] == "True"
        assert (widget["metadata"]["namespace"], widget["spec"]) == ("default", {"size": 1})

    def test_the_version_of_a_manifest_is_that_of_the_object(self, kube: MockKube) -> None:
        kube.apply(WIDGETS)
        (widget,) = kube.apply({"apiVersion": "example.dev/v1beta1", "kind": "Widget", "metadata": {"name": "w"}})
        assert widget["apiVersion"] == "example.dev/v1beta1"

    def test_a_namespace_comes_before_what_is_in_it(self, kube: MockKube) -> None:
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}
        _, created = kube.apply([config_map("c"), namespace], namespace="team")
        assert created["metadata"]["namespace"] == "team"

    def test_applying_again_removes_what_the_manifest_said_before(self, kube: MockKube, core: Any) -> None:
        kube.apply(config_map("c", a="1", b="2"))
        core.patch_namespaced_config_map("c", "default", {"data": {"a": "other", "mine": "x"}})
        (changed,) = kube.apply(config_map("c", a="3"))
        assert changed["data"] == {"a": "3", "mine": "x"}

    def test_generated_names(self, kube: MockKube) -> None:
        template = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "c-"}}
        one, two = kube.apply([template, template])
        assert one["metadata"]["name"].startswith("c-")
        assert one["metadata"]["name"] != two["metadata"]["name"]

    def test_an_unknown_field_is_refused_and_the_error_names_the_object(self, kube: MockKube) -> None:
        with pytest.raises(Exception, match=r"spec\.contaners") as refused:
            kube.apply({**POD, "spec": {"contaners": []}})
        assert refused.value.__notes__ == ["in the manifest of Pod web"]

    def test_an_invalid_object_is_refused(self, kube: MockKube) -> None:
        with pytest.raises(Invalid, match=r"spec\.containers: Required value"):
            kube.apply({**POD, "spec": {"containers": []}})

    @pytest.mark.parametrize(
        ("api_version", "message"),
        [("apps/v1", "apply its CustomResourceDefinition first"), ("apps/v9", "it serves apps/v1")],
    )
    def test_an_unknown_kind_names_the_remedy(self, kube: MockKube, api_version: str, message: str) -> None:
        kind = "Deployment" if api_version == "apps/v9" else "Widget"
        with pytest.raises(UnknownKindError, match=message):
            kube.apply({"apiVersion": api_version, "kind": kind, "metadata": {"name": "d"}})


@pytest.mark.mockkube(nodes=1)
class TestWait:
    def test_a_condition(self, kube: MockKube) -> None:
        kube.apply(POD)
        (pod,) = kube.wait("pod/web", "condition=Ready")
        assert pod["status"]["phase"] == "Running"

    def test_all_objects_with_labels(self, kube: MockKube) -> None:
        kube.apply([POD, {**POD, "metadata": {"name": "two", "labels": {"app": "web"}}}])
        kube.apply({**POD, "metadata": {"name": "other"}, "spec": {**POD["spec"], "nodeSelector": {"no": "node"}}})
        found = kube.wait("pods", "jsonpath={.status.phase}=Running", selector="app=web")
        assert [pod["metadata"]["name"] for pod in found] == ["two", "web"]

    def test_an_object_that_another_thread_creates(self, kube: MockKube, core: Any) -> None:
        create = threading.Thread(target=lambda: core.create_namespaced_config_map("default", config_map("c")))
        create.start()
        kube.wait("cm/c", "create")
        create.join()

    def test_a_deletion(self, kube: MockKube, core: Any) -> None:
        kube.apply(POD)
        kube.wait("pod/web", "condition=Ready")
        core.delete_namespaced_pod("web", "default", grace_period_seconds=0)
        assert kube.wait("pod/web", "delete") == []

    def test_a_function_in_an_object_without_namespace(self, kube: MockKube) -> None:
        (node,) = kube.wait("node/node-1", lambda obj: obj["status"]["capacity"]["pods"] == "110")
        assert node["metadata"]["name"] == "node-1"

    def test_a_failure_explains_a_pod(self, kube: MockKube) -> None:
        kube.apply({**POD, "spec": {**POD["spec"], "nodeSelector": {"disk": "ssd"}}})
        kube.wait("pod/web", "condition=PodScheduled=False")
        while not kube.spy.requests(verb="create", kind="Event", user="system:kube-scheduler", status=201):
            kube.wait("pods", "create")
        with pytest.raises(WaitTimeoutError) as failed:
            kube.wait("pod/web", "condition=Ready", timeout=0)
        text = str(failed.value)
        assert text.startswith("pod/web: not condition=Ready after 0 s\ndefault/web: it has no condition Ready\n")
        assert "What stops it now: kube-scheduler does not place it" in text
        assert "pod has no nodeSelector" in text
        assert "Warning FailedScheduling default-scheduler: 0/1 nodes are available" in text

    def test_a_failure_names_the_objects_that_exist(self, kube: MockKube) -> None:
        kube.apply(config_map("present"))
        with pytest.raises(WaitTimeoutError, match=r"does not exist in namespace default; there are .*default/present"):
            kube.wait("configmap/absent", "create", timeout=0)

    def test_an_interrupted_wait_ends(self, kube: MockKube) -> None:
        async def give_up() -> None:
            async with asyncio.timeout(0.05):
                await kube.wait_async("pod/none", "create", timeout=3600)

        with pytest.raises(TimeoutError):
            asyncio.run(give_up())


class TestClock:
    @VIRTUAL
    def test_time_stands_still_until_it_is_advanced(self, kube: MockKube) -> None:
        start = kube.clock.now()
        assert start == kube.clock.now() == datetime(2030, 1, 1, tzinfo=UTC)
        assert kube.clock.advance(90) - start == timedelta(seconds=90)
        assert kube.clock.advance("1h30m") - start == timedelta(seconds=90 + 5400)
        assert kube.clock.sleep_until("2030-01-01T02:00:00Z") == datetime(2030, 1, 1, 2, tzinfo=UTC)
        with kube.api_client() as client:
            clock = kubernetes.client.CustomObjectsApi(client).get_cluster_custom_object(
                "control.mockkube.dev", "v1alpha1", "clocks", "cluster"
            )
        assert clock["spec"]["advanceTo"] == "2030-01-01T02:00:00Z"

    @VIRTUAL
    @pytest.mark.parametrize(
        ("move", "message"),
        [
            pytest.param(lambda clock: clock.advance(-1), "time does not go back", id="negative"),
            pytest.param(lambda clock: clock.advance("soon"), "'soon' is no duration", id="no duration"),
            pytest.param(
                lambda clock: clock.sleep_until("2029-01-01T00:00:00Z"), "it is 2030-01-01T00:00:00Z", id="past"
            ),
        ],
    )
    def test_times_that_cannot_be_meant(self, kube: MockKube, move: Callable[[Any], object], message: str) -> None:
        with pytest.raises(ValueError, match=message):
            move(kube.clock)

    @VIRTUAL
    def test_waiting_advances_time_to_the_moment_and_no_further(self, kube: MockKube) -> None:
        toleration = {"key": "broken", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
        kube.apply({**POD, "spec": {**POD["spec"], "tolerations": [toleration]}})
        kube.wait("pod/web", "condition=Ready")
        started = kube.clock.now()
        taints = [{"key": "broken", "effect": "NoExecute"}]
        kube.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1"}, "spec": {"taints": taints}})
        kube.wait("pod/web", "delete", timeout="1h")
        assert timedelta(seconds=300) <= kube.clock.now() - started < timedelta(seconds=331)

    @VIRTUAL
    def test_a_failed_wait_takes_its_time_from_the_clock(self, kube: MockKube) -> None:
        started = kube.clock.now()
        with pytest.raises(WaitTimeoutError, match="after 3600 s"):
            kube.wait("pod/none", "create", timeout="1h")
        assert kube.clock.now() - started == timedelta(hours=1)

    @VIRTUAL
    def test_a_client_that_watches_acts_before_time_passes(self, kube: MockKube) -> None:
        """The node renews its lease every ten virtual seconds, so time would pass in milliseconds."""
        watching = threading.Event()

        def operate() -> None:
            with kube.api_client() as client:
                core = kubernetes.client.CoreV1Api(client)
                version = core.list_namespaced_config_map("default").metadata.resource_version
                stream = kubernetes.watch.Watch().stream(
                    core.list_namespaced_config_map, "default", resource_version=version
                )
                watching.set()
                for event in stream:
                    if event["object"].metadata.name == "request":
                        core.create_namespaced_config_map("default", config_map("answer"))
                        return

        operator = threading.Thread(target=operate)
        operator.start()
        watching.wait(10)
        kube.apply(config_map("request"))
        started = kube.clock.now()
        while not kube.spy.requests(verb="watch", kind="ConfigMap"):
            kube.clock.advance(0)
        kube.wait("configmap/answer", "create", timeout=60)
        assert kube.clock.now() - started < timedelta(seconds=60)
        operator.join()

    @BARE
    def test_real_time_is_not_moved(self, kube: MockKube) -> None:
        assert not kube.clock.is_virtual
        with pytest.raises(RealTimeError, match=r'mark the test with @pytest.mark.mockkube\(clock="virtual"\)'):
            kube.clock.advance(1)


@BARE
class TestFaults:
    def test_errors_end_with_the_block(self, kube: MockKube, core: Any) -> None:
        with kube.faults.errors(503, verb="list", kind="ConfigMap", message="not today") as fault:
            with pytest.raises(kubernetes.client.ApiException, match="not today"):
                core.list_namespaced_config_map("default")
            core.list_namespaced_secret("default")
            kube.apply(config_map("exempt"))
        core.list_namespaced_config_map("default")
        assert fault.injected_count == 1

    def test_errors_of_one_user(self, kube: MockKube) -> None:
        with kube.api_client() as alice, kube.api_client() as bob, kube.faults.errors(user="alice"):
            for client, name in ((alice, "alice"), (bob, "bob")):
                client.set_default_header("Impersonate-User", name)
                client.set_default_header("Impersonate-Group", "system:masters")
            with pytest.raises(kubernetes.client.ApiException, match="500"):
                kubernetes.client.CoreV1Api(alice).list_node()
            kubernetes.client.CoreV1Api(bob).list_node()

    def test_conflicts(self, kube: MockKube, core: Any) -> None:
        kube.apply(config_map("c"))
        with kube.faults.conflicts(kind="ConfigMap", count=1):
            with pytest.raises(kubernetes.client.ApiException) as refused:
                core.patch_namespaced_config_map("c", "default", {"data": {"a": "1"}})
            assert refused.value.status == 409
            core.patch_namespaced_config_map("c", "default", {"data": {"a": "1"}})

    @pytest.mark.mockkube(clock="virtual")
    def test_latency_passes_in_the_time_of_the_cluster(self, kube: MockKube, core: Any) -> None:
        answered = threading.Event()

        def list_nodes() -> None:
            core.list_node()
            answered.set()

        with kube.faults.latency(60, verb="list", kind="Node") as fault:
            request = threading.Thread(target=list_nodes)
            request.start()
            while not fault.injected_count:
                kube.clock.advance(0)
            assert not answered.is_set()
            kube.clock.advance(60)
            assert answered.wait(10)
            request.join()

    def test_watches_are_dropped(self, kube: MockKube, core: Any) -> None:
        stream = core.list_namespaced_config_map("default", watch=True, _preload_content=False)
        with kube.faults.drop_watches(kind="ConfigMap", count=1), pytest.raises(urllib3.exceptions.ProtocolError):
            for _ in stream.stream():
                pass

    def test_reads_are_stale_and_resource_versions_expire(self, kube: MockKube, core: Any) -> None:
        kube.apply(config_map("c", a="1"))
        with kube.faults.stale_reads(kind="ConfigMap"):
            kube.apply(config_map("c", a="2"))
            assert core.read_namespaced_config_map("c", "default").data == {"a": "1"}
        version = core.read_namespaced_config_map("c", "default").metadata.resource_version
        with kube.faults.expired(kind="ConfigMap"), pytest.raises(kubernetes.client.ApiException, match="410"):
            core.list_namespaced_config_map("default", watch=True, resource_version=version)

    def test_events_are_missed_repeated_and_held(self, kube: MockKube, core: Any) -> None:
        stream = core.list_namespaced_config_map(
            "default", watch=True, field_selector="metadata.name=c", _preload_content=False
        )
        lines = (json.loads(line) for line in stream)

        def take() -> tuple[str, Any]:
            event = next(lines)
            return event["type"], event["object"].get("data")

        with kube.faults.missed_events(kind="ConfigMap", count=1):
            kube.apply(config_map("c", a="1"))
            kube.apply(config_map("c", a="2"))
            assert take() == ("ADDED", {"a": "2"})
        with kube.faults.repeated_events(kind="ConfigMap"):
            kube.apply(config_map("c", a="3"))
            assert [take(), take()] == [("MODIFIED", {"a": "3"})] * 2
        with kube.faults.held_events(kind="ConfigMap") as held:
            kube.apply(config_map("c", a="4"))
            assert core.read_namespaced_config_map("c", "default").data == {"a": "4"}
        assert take() == ("MODIFIED", {"a": "4"})
        assert held.injected_count == 1
        stream.close()

    def test_a_write_takes_effect_before_it_fails(self, kube: MockKube, core: Any) -> None:
        body = {"metadata": {"name": "done"}}
        with kube.faults.errors(504, after_effect=True, skip=1, kind="ConfigMap", verb="create") as fault:
            core.create_namespaced_config_map("default", {"metadata": {"name": "first"}})
            with pytest.raises(kubernetes.client.ApiException, match="504"):
                core.create_namespaced_config_map("default", body)
        assert fault.injected_count == 1
        assert core.read_namespaced_config_map("done", "default").metadata.name == "done"

    def test_mistakes_are_named(self, kube: MockKube) -> None:
        with pytest.raises(TypeError, match=r"unknown options \['resource'\]: known are verb, kind"):
            kube.faults.errors(resource="pods")
        with pytest.raises(UnknownKindError, match="serves no kind 'Widget'"), kube.faults.errors(kind="Widget"):
            pass
        with pytest.raises(Invalid, match=r"spec\.match\.verbs\[0\]"), kube.faults.errors(verb="read"):
            pass

    @pytest.mark.mockkube(nodes=1, without=[])
    def test_components_meet_faults_too(self, kube: MockKube) -> None:
        with kube.faults.errors(503, component="kube-scheduler", kind="pods/binding", count=1) as fault:
            kube.apply(POD)
            kube.wait("pod/web", "condition=Ready")
        assert fault.injected_count == 1


class TestSpy:
    @BARE
    def test_requests_of_clients_and_none_of_the_fixture(self, kube: MockKube, core: Any) -> None:
        kube.apply(config_map("own"))
        core.create_namespaced_config_map("default", config_map("c", a="1"))
        with pytest.raises(kubernetes.client.ApiException):
            core.read_namespaced_config_map("absent", "default")
        created, read = kube.spy.requests()
        assert (created.verb, created.kind, created.name, created.status) == ("create", "ConfigMap", "c", 201)
        assert created.body["data"] == {"a": "1"}
        assert (created.user, created.namespace) == ("kubernetes-admin", "default")
        assert (read.verb, read.name, read.status, read.body) == ("get", "absent", 404, None)

    @pytest.mark.mockkube(nodes=1)
    def test_requests_of_components(self, kube: MockKube) -> None:
        kube.apply(POD)
        kube.wait("pod/web", "condition=Ready")
        (binding,) = kube.spy.assert_requested(1, verb="create", kind="pods/binding")
        assert binding.user == "system:kube-scheduler"
        assert binding.body["target"]["name"] == "node-1"
        kube.spy.assert_requested(kind="Pod/status", user_agent="kubelet", from_component=True)
        kube.spy.assert_not_requested(verb="delete", kind="Pod")

    @BARE
    def test_users_injected_errors_and_open_watches(self, kube: MockKube, core: Any) -> None:
        with kube.api_client() as client:
            client.set_default_header("Impersonate-User", "alice")
            with pytest.raises(kubernetes.client.ApiException, match="403"):
                kubernetes.client.CoreV1Api(client).list_node()
        kube.spy.assert_requested(1, user="alice", status=403)
        with kube.faults.errors(500, kind="Node"), pytest.raises(kubernetes.client.ApiException):
            core.list_node()
        kube.spy.assert_requested(1, kind="Node", status=500)
        stream = core.list_node(watch=True, _preload_content=False)
        kube.spy.assert_requested(1, verb="watch", kind="Node", status=0)
        stream.close()


@pytest.mark.mockkube(nodes=1)
class TestAsynchronousCode:
    @staticmethod
    async def use(kube: MockKube) -> str:
        """Every asynchronous method, in one test."""
        await kube.apply_async(POD)
        async with kube.faults.errors(503, verb="delete", kind="Secret") as fault:
            (pod,) = await kube.wait_async("pod/web", "condition=Ready")
        assert fault.injected_count == 0
        return str(pod["status"]["phase"])

    @pytest.mark.parametrize("run", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
    def test_any_event_loop(self, kube: MockKube, run: Callable[[Any], str]) -> None:
        assert run(self.use(kube)) == "Running"

    def test_anyio(self, kube: MockKube) -> None:
        assert anyio.run(self.use, kube) == "Running"

    async def test_an_asynchronous_test(self, kube: MockKube) -> None:
        assert await self.use(kube) == "Running"

    async def test_a_cluster_in_the_loop_of_the_test(self) -> None:
        async with MockKube(nodes=1, clock="virtual") as kube:
            assert await self.use(kube) == "Running"
            before = kube.clock.now()
            assert await kube.clock.advance_async("1m") - before == timedelta(minutes=1)
            assert await kube.clock.sleep_until_async(kube.clock.now()) == kube.clock.now()

    async def test_synchronous_methods_name_the_asynchronous_ones(self, kube: MockKube) -> None:
        with pytest.raises(RuntimeError, match="await the one whose name ends in _async"):
            kube.apply(POD)


@BARE
class TestActivation:
    def test_clients_that_have_loaded_a_configuration(self, kube: MockKube, tmp_path: Path) -> None:
        with MockKube(without=["scheduler", "controllers", "kubelets"]) as other:
            other.apply(config_map("of-the-other"))
            kubernetes.config.load_kube_config(str(other.kubeconfig))
            loaded = kubernetes.client.Configuration.get_default_copy().host
            with MockKube(without=["scheduler", "controllers", "kubelets"]) as active:
                active.activate()
                names = [
                    one.metadata.name
                    for one in kubernetes.client.CoreV1Api().list_config_map_for_all_namespaces().items
                ]
                assert "of-the-other" not in names
            assert kubernetes.client.Configuration.get_default_copy().host == loaded
        kubernetes.client.Configuration.set_default(None)
