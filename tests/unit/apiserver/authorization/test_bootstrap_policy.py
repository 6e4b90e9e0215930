import pytest

from mockkube.apiserver.authorization import bootstrap_policy
from mockkube.features.capabilities import Capabilities
from mockkube.features.gates import enabled_gates
from mockkube.features.versions import Version


def objects(version="1.36", *, kind="ClusterRole", on=None):
    at = Version.parse(version)
    gates = enabled_gates(at) if on is None else frozenset(on)
    made = bootstrap_policy.default_objects(Capabilities(at, gates))
    return {obj["metadata"]["name"]: obj for obj in made if obj["kind"] == kind}


def resources(role):
    return {resource for rule in role["rules"] for resource in rule.get("resources", ())}


def test_a_new_cluster_has_the_roles_a_user_is_given():
    assert {"cluster-admin", "admin", "edit", "view"} <= objects().keys()


def test_every_binding_leads_to_a_role_that_is_there():
    everywhere = objects().keys()
    for binding in objects(kind="ClusterRoleBinding").values():
        assert binding["roleRef"]["name"] in everywhere
    in_namespaces = objects(kind="Role").keys()
    for binding in objects(kind="RoleBinding").values():
        assert binding["roleRef"]["name"] in in_namespaces


def test_every_controller_has_the_role_of_its_name():
    bindings = objects(kind="ClusterRoleBinding")
    for name in objects():
        if name.startswith("system:controller:"):
            assert bindings[name]["subjects"] == [
                {"kind": "ServiceAccount", "namespace": "kube-system", "name": name.removeprefix("system:controller:")}
            ]


def test_whoever_asks_may_know_that_the_server_lives():
    subjects = objects(kind="ClusterRoleBinding")["system:public-info-viewer"]["subjects"]
    assert [subject["name"] for subject in subjects] == ["system:authenticated", "system:unauthenticated"]


def test_the_binding_of_nodes_names_nobody():
    assert "subjects" not in objects(kind="ClusterRoleBinding")["system:node"]


def test_admin_has_what_edit_and_view_have_as_a_controller_would_write_it():
    roles = objects()
    assert roles["admin"]["aggregationRule"]["clusterRoleSelectors"]
    assert resources(roles["view"]) < resources(roles["edit"]) < resources(roles["admin"])
    first = roles["system:aggregate-to-edit"]["rules"][0]
    assert roles["admin"]["rules"][0] == first
    rules = [str(rule) for rule in roles["admin"]["rules"]]
    assert len(rules) == len(set(rules))


@pytest.mark.parametrize(
    ("version", "role", "has"),
    [
        pytest.param("1.33", "system:controller:expand-controller", True, id="while volumes of Portworx need it"),
        pytest.param("1.35", "system:controller:expand-controller", True, id="up to the last version with them"),
        pytest.param("1.36", "system:controller:expand-controller", False, id="no longer"),
    ],
)
def test_rules_come_and_go_with_versions(version, role, has):
    assert ("services" in resources(objects(version)[role])) is has


def test_a_rule_may_depend_on_a_gate():
    role = "system:aggregate-to-edit"
    assert "resourceclaims" in resources(objects(on={"DynamicResourceAllocation"})[role])
    assert "resourceclaims" not in resources(objects(on=())[role])


def test_a_role_may_depend_on_gates():
    name = "system:controller:device-taint-eviction-controller"
    assert name in objects(on={"DynamicResourceAllocation", "DRADeviceTaints"})
    assert name not in objects(on={"DRADeviceTaints"})


def test_one_path_of_a_rule_may_depend_on_a_gate():
    urls = objects(on={"ComponentFlagz"})["system:monitoring"]["rules"][0]["nonResourceURLs"]
    assert urls[0] == "/flagz"
    assert "/statusz" not in urls


def test_a_version_younger_than_the_tables_has_what_the_newest_has():
    assert objects("1.40", on=()).keys() == objects("1.37", on=()).keys()


def test_nodes_have_rules_of_their_own():
    rules = bootstrap_policy.node_rules(Capabilities())
    assert any(rule.resources == ("nodes",) and "create" in rule.verbs for rule in rules)
