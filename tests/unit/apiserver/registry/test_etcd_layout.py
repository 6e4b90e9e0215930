"""Keys in etcd are those of the real API server where its layout is asked for, and each is read back as its own."""

import pytest

from mockkube.api.catalogue import KINDS
from mockkube.apiserver.registry.etcd_layout import GroupLayout, KubernetesLayout


@pytest.mark.parametrize(
    ("key", "path"),
    [
        ("/registry/core/pods/default/a", "/pods/default/a"),
        ("/registry/core/nodes/n", "/minions/n"),
        ("/registry/core/services/default/a", "/services/specs/default/a"),
        ("/registry/core/endpoints/default/a", "/services/endpoints/default/a"),
        ("/registry/core/replicationcontrollers/default/a", "/controllers/default/a"),
        ("/registry/networking.k8s.io/ingresses/default/a", "/ingress/default/a"),
        ("/registry/apps/deployments/default/a", "/deployments/default/a"),
        ("/registry/rbac.authorization.k8s.io/clusterroles/system:node", "/clusterroles/system:node"),
        ("/registry/apiregistration.k8s.io/apiservices/v1.", "/apiregistration.k8s.io/apiservices/v1."),
        (
            "/registry/apiextensions.k8s.io/customresourcedefinitions/a.b.c",
            "/apiextensions.k8s.io/customresourcedefinitions/a.b.c",
        ),
        ("/registry/example.com/widgets/default/a", "/example.com/widgets/default/a"),
        ("/registry/example.com/services/default/a", "/example.com/services/default/a"),
        ("/registry/core/events/default/a.1", "/events/default/a.1"),
    ],
)
def test_a_key_has_the_path_of_the_real_api_server(key: str, path: str) -> None:
    layout = KubernetesLayout()
    assert layout.encode(key) == path
    assert layout.decode(path) == key
    assert layout.encode_prefix(key) == path


@pytest.mark.parametrize(
    "path", ["/ranges/serviceips", "/masterleases/10.0.0.1", "/pods", "/services/other/a/b", "", "compact_rev_key"]
)
def test_what_is_no_object_has_no_key(path: str) -> None:
    assert KubernetesLayout().decode(path) is None


@pytest.mark.parametrize("prefix", ["", "/registry/", "/registry/core/", "/registry/core/services"])
def test_a_prefix_of_several_directories_has_no_path(prefix: str) -> None:
    assert KubernetesLayout().encode_prefix(prefix) is None


def test_prefixes_of_one_resource_have_a_path() -> None:
    layout = KubernetesLayout()
    assert layout.encode_prefix("/registry/core/services/") == "/services/specs/"
    assert layout.encode_prefix("/registry/core/services/default/") == "/services/specs/default/"


@pytest.mark.parametrize("layout", [GroupLayout(), KubernetesLayout()], ids=["group", "kubernetes"])
def test_no_two_kinds_share_a_path(layout: GroupLayout) -> None:
    keys = [f"/registry/{kind.group or 'core'}/{kind.plural}/default/a" for kind in KINDS if kind.stored_as is None]
    paths = [layout.encode(key) for key in keys]
    assert len(set(paths)) == len(set(keys))
    assert [layout.decode(path) for path in paths] == keys


def test_paths_by_group_have_the_prefix_replaced() -> None:
    layout = GroupLayout()
    assert layout.encode("/registry/core/pods/default/a") == "/core/pods/default/a"
    assert layout.encode_prefix("/registry/apps/") == "/apps/"
    assert layout.encode_prefix("") is None
    assert layout.decode("/core/pods/default/a") == "/registry/core/pods/default/a"


@pytest.mark.parametrize("layout", [GroupLayout(), KubernetesLayout()], ids=["group", "kubernetes"])
def test_what_processes_share_is_beside_the_objects(layout: GroupLayout) -> None:
    key = "/mockkube/processes/a"
    assert layout.encode(key) == layout.decode(key) == key
    assert layout.encode_prefix("/mockkube/processes/") == "/mockkube/processes/"


@pytest.mark.parametrize("prefix", ["/registry/", "/registry/m", "/registry/mockkube"])
def test_a_prefix_of_objects_that_shared_keys_have_too_has_no_path(prefix: str) -> None:
    assert GroupLayout().encode_prefix(prefix) is None
