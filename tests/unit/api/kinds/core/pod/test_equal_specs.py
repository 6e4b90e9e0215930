"""What is remembered of a spec holds for equal ones, and only for the settings with which it was found."""

from copy import deepcopy
from datetime import UTC, datetime

from mockkube.api.kinds.core.pod.defaults import default_pod
from mockkube.api.kinds.core.pod.disabled_fields import drop_disabled_pod_fields
from mockkube.api.kinds.core.pod.options import pod_validation_options
from mockkube.api.kinds.core.pod.qos import compute_pod_qos
from mockkube.api.kinds.core.pod.validation import validate_pod_update
from mockkube.api.kinds.core.pod.warnings import pod_warnings
from mockkube.api.strategy import StrategyContext
from mockkube.api.validation.extensions import NO_EXTENSIONS
from mockkube.features.capabilities import Capabilities
from mockkube.features.versions import Version

VERSION = Version(1, 34)
OFF, ON = Capabilities(VERSION), Capabilities(VERSION, frozenset({"HostnameOverride", "PodLevelResources"}))
SPEC = {
    "containers": [{"name": "c", "image": "i", "terminationMessagePolicy": "File", "imagePullPolicy": "Always"}],
    "terminationGracePeriodSeconds": 30,
    "restartPolicy": "Always",
    "dnsPolicy": "ClusterFirst",
}


def pod(spec, **metadata):
    return {"metadata": {"name": "p", "namespace": "n", **metadata}, "spec": spec}


def test_a_field_that_one_server_keeps_is_dropped_by_another():
    spec = {**SPEC, "hostnameOverride": "h"}
    for caps, rest in ((ON, spec), (ON, spec), (OFF, SPEC), (ON, spec), (OFF, SPEC)):
        new = deepcopy(spec)
        drop_disabled_pod_fields(new, None, caps)
        assert new == rest


def test_an_update_keeps_a_field_that_a_new_pod_loses():
    spec = {**SPEC, "hostnameOverride": "kept"}
    for old, rest in ((None, SPEC), (spec, spec), (spec, spec), (None, SPEC), (SPEC, SPEC)):
        new = deepcopy(spec)
        drop_disabled_pod_fields(new, old, OFF)
        assert new == rest


def test_the_class_of_a_spec_depends_on_the_gates_of_the_server():
    spec = {**SPEC, "resources": {"requests": {"cpu": "1"}}}
    assert [compute_pod_qos(spec, caps) for caps in (ON, OFF, OFF, ON)] == [
        "Burstable",
        "BestEffort",
        "BestEffort",
        "Burstable",
    ]


def test_a_complete_spec_gets_the_defaults_of_another_server():
    with_protocol = Capabilities(VERSION, frozenset({"H2CContainerProbe"}))
    pods = [pod({**deepcopy(SPEC), "schedulerName": "s", "enableServiceLinks": False}) for _ in range(5)]
    protocols = []
    for each, caps in zip(pods, (OFF, OFF, with_protocol, with_protocol, OFF), strict=True):
        each["spec"]["containers"][0]["readinessProbe"] = {"httpGet": {"port": 80}}
        default_pod(each, caps)
        protocols.append(each["spec"]["containers"][0]["readinessProbe"]["httpGet"].get("protocol"))
    assert protocols == [None, None, "HTTP1", "HTTP1", None]


def test_annotations_are_warned_about_although_the_spec_is_known():
    context = StrategyContext(ON, datetime(2026, 1, 1, tzinfo=UTC))
    key = "container.seccomp.security.alpha.kubernetes.io/c"
    counts = [
        len(pod_warnings({"annotations": annotations}, SPEC, context))
        for annotations in ({}, {"a": "b"}, {key: "runtime/default"}, {}, {key: "runtime/default"})
    ]
    assert counts == [0, 0, 1, 0, 1]


def test_an_unchanged_spec_does_not_hide_a_forbidden_annotation():
    options = pod_validation_options(ON, NO_EXTENSIONS)
    key = "container.apparmor.security.beta.kubernetes.io/c"
    old = pod(SPEC, resourceVersion="1")
    for annotations, found in (({"a": "b"}, []), ({key: "runtime/default"}, ["may not add AppArmor annotations"])):
        new = pod(deepcopy(SPEC), resourceVersion="1", annotations=annotations)
        errors = validate_pod_update(new, old, options, metadata_is_valid=True)
        assert [error.detail for error in errors] == found


def test_an_invalid_name_of_a_pod_is_found_although_its_metadata_is_valid_for_other_kinds():
    options = pod_validation_options(ON, NO_EXTENSIONS)
    new = pod(SPEC)
    new["metadata"]["name"] = "UPPER"
    errors = validate_pod_update(new, deepcopy(new), options, metadata_is_valid=True)
    assert [error.field for error in errors] == ["metadata.name"]
