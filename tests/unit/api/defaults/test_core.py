import pytest

from mockkube.api.kinds.core import (
    endpoints,
    limit_range,
    namespace,
    node,
    pod_template,
    replication_controller,
    resource_quota,
    secret,
)
from mockkube.features.capabilities import Capabilities

CAPS = Capabilities()


def test_a_namespace_is_active_and_labelled_with_its_name():
    obj = {"metadata": {"name": "n", "labels": {"a": "b", "kubernetes.io/metadata.name": "wrong"}}, "status": {}}
    namespace.default_namespace(obj, CAPS)
    assert obj["metadata"]["labels"] == {"a": "b", "kubernetes.io/metadata.name": "n"}
    assert obj["status"] == {"phase": "Active"}


def test_a_namespace_without_a_name_has_no_label_yet():
    obj = {"metadata": {"generateName": "n-"}, "status": {}}
    namespace.default_namespace(obj, CAPS)
    assert obj["metadata"] == {"generateName": "n-"}


def test_all_of_a_nodes_capacity_may_be_used():
    obj = {"metadata": {}, "spec": {}, "status": {"capacity": {"cpu": "4", "memory": "1u"}}}
    node.default_node(obj, CAPS)
    assert obj["status"] == {
        "capacity": {"cpu": "4", "memory": "1m"},
        "allocatable": {"cpu": "4", "memory": "1m"},
    }


def test_what_a_node_allows_stays():
    obj = {"metadata": {}, "spec": {}, "status": {"capacity": {"cpu": "4"}, "allocatable": {"cpu": "3"}}}
    node.default_node(obj, CAPS)
    assert obj["status"]["allocatable"] == {"cpu": "3"}


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        pytest.param({"podCIDR": "10.0.0.0/24"}, ["10.0.0.0/24"], id="only the one"),
        pytest.param({"podCIDRs": ["10.0.0.0/24", "fd::/64"]}, ["10.0.0.0/24", "fd::/64"], id="only the list"),
        pytest.param({"podCIDR": "10.1.0.0/24", "podCIDRs": ["10.0.0.0/24"]}, ["10.1.0.0/24"], id="the one wins"),
    ],
)
def test_the_range_of_a_node_and_the_list_of_ranges_agree(given, kept):
    obj = {"metadata": {}, "spec": given}
    node.default_node(obj, CAPS)
    assert obj["spec"] == {"podCIDR": kept[0], "podCIDRs": kept}


def test_a_secret_is_opaque_and_keeps_text_as_data():
    obj = {"metadata": {}, "data": {"a": "MQ==", "b": "Mg=="}, "stringData": {"a": "text", "c": ""}}
    secret.default_secret(obj, CAPS)
    assert obj == {"metadata": {}, "type": "Opaque", "data": {"a": "dGV4dA==", "b": "Mg==", "c": ""}}


def test_a_secret_of_a_type_stays_one():
    obj = {"metadata": {}, "type": "kubernetes.io/tls"}
    secret.default_secret(obj, CAPS)
    assert obj == {"metadata": {}, "type": "kubernetes.io/tls"}


def test_ports_of_endpoints_speak_tcp():
    obj = {"metadata": {}, "subsets": [{"ports": [{"port": 1}, {"port": 2, "protocol": "UDP"}]}]}
    endpoints.default_endpoints(obj, CAPS)
    assert [port["protocol"] for port in obj["subsets"][0]["ports"]] == ["TCP", "UDP"]


def limits(**item):
    obj = {"metadata": {}, "spec": {"limits": [item]}}
    limit_range.default_limit_range(obj, CAPS)
    return obj["spec"]["limits"][0]


@pytest.mark.parametrize(
    ("given", "default", "request_"),
    [
        pytest.param({"max": {"cpu": "2"}}, {"cpu": "2"}, {"cpu": "2"}, id="from the greatest"),
        pytest.param({"min": {"cpu": "1"}}, None, {"cpu": "1"}, id="from the least"),
        pytest.param({"min": {"cpu": "1"}, "max": {"cpu": "2"}}, {"cpu": "2"}, {"cpu": "2"}, id="limits come first"),
        pytest.param(
            {"max": {"cpu": "2"}, "default": {"cpu": "1"}, "defaultRequest": {"cpu": "500m"}},
            {"cpu": "1"},
            {"cpu": "500m"},
            id="what was given stays",
        ),
    ],
)
def test_limits_of_containers_follow_from_their_bounds(given, default, request_):
    item = limits(type="Container", **given)
    assert item.get("default") == default
    assert item.get("defaultRequest") == request_


def test_limits_of_pods_have_no_defaults():
    assert limits(type="Pod", max={"cpu": "1u"}) == {"type": "Pod", "max": {"cpu": "1m"}}


def test_quotas_are_rounded():
    obj = {"metadata": {}, "spec": {"hard": {"cpu": "1u"}}, "status": {"hard": {"cpu": "1u"}, "used": {"cpu": "1n"}}}
    resource_quota.default_resource_quota(obj, CAPS)
    assert obj["spec"] == {"hard": {"cpu": "1m"}}
    assert obj["status"] == {"hard": {"cpu": "1m"}, "used": {"cpu": "1m"}}


def test_a_replication_controller_takes_selector_and_labels_from_its_template():
    template = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": []}}
    obj = {"metadata": {"name": "rc"}, "spec": {"template": template}, "status": {}}
    replication_controller.default_replication_controller(obj, CAPS)
    assert obj["spec"]["replicas"] == 1
    assert obj["spec"]["selector"] == obj["metadata"]["labels"] == {"app": "a"}
    assert obj["spec"]["selector"] is not obj["metadata"]["labels"]
    assert obj["spec"]["template"]["spec"]["restartPolicy"] == "Always"


def test_a_replication_controller_may_lack_a_template():
    obj = {"metadata": {"name": "rc"}, "spec": {"replicas": 0}, "status": {}}
    replication_controller.default_replication_controller(obj, CAPS)
    assert obj["spec"] == {"replicas": 0}


def test_a_template_is_not_told_of_service_links_nor_of_requests():
    container = {"name": "c", "image": "app:1", "resources": {"limits": {"cpu": "1"}}}
    obj = {"metadata": {"name": "t"}, "template": {"metadata": {}, "spec": {"containers": [container]}}}
    pod_template.default_pod_template(obj, CAPS)
    spec = obj["template"]["spec"]
    assert "enableServiceLinks" not in spec
    assert spec["containers"][0]["resources"] == {"limits": {"cpu": "1"}}
