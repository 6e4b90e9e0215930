"""The strategy of pods: what the server sets, and what each resource of a pod leaves alone."""

from copy import deepcopy
from datetime import UTC, datetime

import pytest

from mockkube.api.kinds.core.pod.pod import PodStrategy
from mockkube.api.strategy import StrategyContext
from mockkube.api.validation.extensions import OperatorRule, ValidationExtensions, reject_toleration_operator
from mockkube.features.capabilities import Capabilities
from mockkube.features.versions import Version

GATES = frozenset(
    (
        "MatchLabelKeysInPodTopologySpread",
        "MatchLabelKeysInPodTopologySpreadSelectorMerge",
        "InPlacePodLevelResourcesVerticalScaling",
        "PodLevelResources",
    )
)
NOW = datetime(2026, 1, 1, tzinfo=UTC)
JUDGE = StrategyContext(Capabilities(gates=GATES), NOW)
CONTAINER = {
    "name": "c",
    "image": "i",
    "imagePullPolicy": "Always",
    "terminationMessagePolicy": "File",
    "resources": {},
}
PODS = PodStrategy()


def via(subresource):
    return StrategyContext(JUDGE.caps, NOW, subresource)


def pod(status=None, meta=None, **spec):
    base = {"restartPolicy": "Always", "dnsPolicy": "ClusterFirst", "terminationGracePeriodSeconds": 30}
    metadata = {"name": "p", "namespace": "n", "uid": "u", "resourceVersion": "1", "generation": 1, **(meta or {})}
    spec = {"containers": [deepcopy(CONTAINER)], **base, **deepcopy(spec)}
    return {"metadata": metadata, "spec": spec, "status": deepcopy(status or {})}


def created(**kwargs):
    obj = pod(**kwargs)
    PODS.prepare_for_create(obj, JUDGE)
    return obj


def updated(new, old, subresource=""):
    before = deepcopy(old)
    PODS.prepare_for_update(new, old, via(subresource))
    assert old == before
    return new


def test_a_new_pod_is_pending_of_some_quality_and_the_first_generation():
    obj = created(status={"phase": "Running", "podIP": "10.0.0.1"}, meta={"generation": 7})
    assert obj["status"] == {"phase": "Pending", "qosClass": "BestEffort"}
    assert obj["metadata"]["generation"] == 1


def test_a_gated_pod_says_why_it_is_not_scheduled():
    (condition,) = created(schedulingGates=[{"name": "a"}])["status"]["conditions"]
    assert condition == {
        "type": "PodScheduled",
        "status": "False",
        "lastProbeTime": None,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
        "reason": "SchedulingGated",
        "message": "Scheduling is blocked due to non-empty scheduling gates",
    }


def test_values_of_label_keys_are_merged_into_selectors():
    constraint = {"topologyKey": "zone", "matchLabelKeys": ["hash", "absent"], "labelSelector": {}}
    term = {"topologyKey": "zone", "mismatchLabelKeys": ["hash"], "labelSelector": {"matchLabels": {"a": "b"}}}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    obj = created(
        meta={"labels": {"hash": "1"}},
        topologySpreadConstraints=[constraint],
        affinity={"podAntiAffinity": required},
    )
    merged = obj["spec"]["topologySpreadConstraints"][0]["labelSelector"]
    assert merged == {"matchExpressions": [{"key": "hash", "operator": "In", "values": ["1"]}]}
    (asked,) = obj["spec"]["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert asked["labelSelector"]["matchExpressions"] == [{"key": "hash", "operator": "NotIn", "values": ["1"]}]


def test_an_annotated_app_armor_profile_becomes_the_field_and_a_warning():
    key = "container.apparmor.security.beta.kubernetes.io/c"
    obj = created(meta={"annotations": {key: "localhost/x"}})
    assert obj["spec"]["containers"][0]["securityContext"]["appArmorProfile"] == {
        "type": "Localhost",
        "localhostProfile": "x",
    }
    assert PODS.warnings_on_create(obj, JUDGE) == [
        f'metadata.annotations[{key}]: deprecated since v1.30; use the "appArmorProfile" field instead'
    ]


def test_a_name_that_is_no_label_is_warned_of():
    (text,) = PODS.warnings_on_create(created(meta={"name": "a.b"}), JUDGE)
    assert text == (
        "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; "
        "a DNS label is recommended: [must not contain dots]"
    )


def test_the_main_resource_leaves_the_status_alone():
    old = pod(status={"phase": "Running"})
    assert updated(pod(status={"phase": "Failed"}), old)["status"] == {"phase": "Running"}


@pytest.mark.parametrize(
    ("hostname", "generation"), [pytest.param("h", 2, id="changed"), pytest.param(None, 1, id="not")]
)
def test_the_generation_rises_with_the_spec(hostname, generation):
    new = pod(hostname=hostname) if hostname else pod()
    assert updated(new, pod())["metadata"]["generation"] == generation


def test_the_status_leaves_spec_and_owners_alone_and_keeps_what_was_observed():
    owners = [{"name": "o"}]
    conditions = [{"type": "Ready", "observedGeneration": 3}]
    old = pod(
        status={"phase": "Pending", "qosClass": "Burstable", "observedGeneration": 2, "conditions": conditions},
        meta={"ownerReferences": owners},
    )
    new = updated(pod(status={"phase": "Running", "conditions": [{"type": "Ready"}]}, hostname="h"), old, "status")
    assert new["spec"] == old["spec"]
    assert new["metadata"]["ownerReferences"] == owners
    assert new["status"] == {
        "phase": "Running",
        "qosClass": "Burstable",
        "observedGeneration": 2,
        "conditions": [{"type": "Ready", "observedGeneration": 3}],
    }


def test_ephemeral_containers_are_all_their_resource_changes():
    ephemeral = [{**CONTAINER, "name": "e"}]
    new = updated(
        pod(ephemeralContainers=ephemeral, hostname="h", meta={"labels": {"a": "b"}}), pod(), "ephemeralcontainers"
    )
    assert new["spec"]["ephemeralContainers"] == ephemeral
    assert "hostname" not in new["spec"]
    assert "labels" not in new["metadata"]


def test_a_resize_changes_resources_of_containers_and_pod():
    wanted = {**CONTAINER, "image": "other", "resources": {"requests": {"cpu": "2"}}}
    new = updated(pod(containers=[wanted], resources={"requests": {"cpu": "3"}}), pod(), "resize")
    assert new["spec"]["containers"] == [{**CONTAINER, "resources": {"requests": {"cpu": "2"}}}]
    assert new["spec"]["resources"] == {"requests": {"cpu": "3"}}


def test_a_binding_has_been_judged_before():
    old = pod()
    new = updated(pod(nodeName="n"), old, "binding")
    assert new["metadata"]["generation"] == 1
    assert PODS.validate_update(new, old, via("binding")) == []
    assert PODS.validate_update(new, old, JUDGE) != []


@pytest.mark.parametrize("subresource", ["", "status", "ephemeralcontainers", "resize"])
def test_an_unchanged_pod_passes_every_resource(subresource):
    obj = created()
    assert PODS.validate(obj, JUDGE) == []
    assert PODS.validate_update(obj, obj, via(subresource)) == []


@pytest.mark.parametrize(
    ("spec", "status", "requested", "seconds"),
    [
        pytest.param({"nodeName": "n"}, {}, None, 30, id="as the pod says"),
        pytest.param({"nodeName": "n"}, {}, 5, 5, id="as asked for"),
        pytest.param({}, {}, 5, 0, id="on no node"),
        pytest.param({"nodeName": "n"}, {"phase": "Succeeded"}, 5, 0, id="ended"),
        pytest.param({"nodeName": "n", "terminationGracePeriodSeconds": -1}, {}, None, 1, id="negative"),
    ],
)
def test_a_deletion_waits(spec, status, requested, seconds):
    assert PODS.grace_seconds(pod(status=status, **spec), requested) == seconds


def test_pods_are_selected_by_node_phase_and_a_few_settings():
    obj = pod(status={"phase": "Running", "podIPs": [{"ip": "10.0.0.1"}]}, nodeName="n", hostNetwork=True)
    fields = PODS.selectable_fields(obj)
    assert tuple(fields) == PODS.selectable_field_names
    assert (fields["spec.nodeName"], fields["spec.hostNetwork"], fields["status.podIP"]) == ("n", "true", "10.0.0.1")


def test_an_odd_address_in_a_status_is_warned_of():
    new = pod(status={"podIPs": [{"ip": "FD00::1"}]})
    (text,) = PODS.warnings_on_update(new, pod(), via("status"))
    assert text.startswith('status.podIPs[0].ip: IPv6 address "FD00::1" should be in RFC 5952 canonical format')
    assert PODS.warnings_on_update(new, pod(), JUDGE) == []


def test_a_proposal_may_add_operators():
    rule = OperatorRule("G", lambda toleration, at: [], reject_toleration_operator)
    pods = PodStrategy(ValidationExtensions(tolerations={"Newer": rule}))
    obj = pod(tolerations=[{"key": "a", "operator": "Newer"}])
    assert pods.validate(obj, StrategyContext(Capabilities(gates=frozenset({"G"})), NOW)) == []
    assert pods.validate(obj, JUDGE) != []
    assert pods.validate_update(obj, obj, JUDGE) == []


NEWEST = Capabilities(
    Version(1, 37),
    GATES | {"PodLevelResourcesFixDefaulting", "PodLevelResourcesFixKubeletQOSClass"},
)


def test_the_quality_of_service_follows_from_what_is_stored_since_1_37():
    obj = pod(resources={"limits": {"cpu": "1", "memory": "1Gi"}}, status={"qosClass": "BestEffort"})
    PODS.prepare_for_create(obj, StrategyContext(NEWEST, NOW))
    assert obj["spec"]["resources"]["requests"] == {"cpu": "1", "memory": "1Gi"}
    assert obj["status"]["qosClass"] == "Guaranteed"


@pytest.mark.parametrize(("caps", "quality"), [(JUDGE.caps, "BestEffort"), (NEWEST, "Burstable")])
def test_empty_resources_of_the_pod_hide_those_of_containers_until_1_37(caps, quality):
    obj = pod(resources={}, containers=[{**CONTAINER, "resources": {"requests": {"cpu": "1"}}}])
    PODS.prepare_for_create(obj, StrategyContext(caps, NOW))
    assert obj["status"]["qosClass"] == quality


@pytest.mark.parametrize("subresource", ["", "resize"])
def test_a_client_that_does_not_know_resources_of_the_pod_keeps_them(subresource):
    old = pod(resources={"requests": {"cpu": "1"}})
    before, new = deepcopy(old), pod()
    PODS.prepare_for_update(new, old, StrategyContext(NEWEST, NOW, subresource))
    assert (new["spec"]["resources"], old) == (old["spec"]["resources"], before)


def test_a_resize_completes_the_resources_of_the_pod():
    limited = {**CONTAINER, "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}}
    old = pod(resources={"requests": {"cpu": "1"}}, containers=[limited])
    before, new = deepcopy(old), deepcopy(old)
    PODS.prepare_for_update(new, old, StrategyContext(NEWEST, NOW, "resize"))
    assert new["spec"]["resources"] == {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}
    assert old == before


def test_claims_in_the_status_stay_if_a_client_leaves_them_out_since_1_37():
    claims = {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "p-gpu"}]}
    old = pod(status=claims, resourceClaims=[{"name": "gpu"}])
    new = deepcopy(old) | {"status": {"phase": "Running"}}
    PODS.prepare_for_update(new, old, StrategyContext(NEWEST, NOW, "status"))
    assert new["status"]["resourceClaimStatuses"] == claims["resourceClaimStatuses"]
