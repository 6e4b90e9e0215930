import pytest

from mockkube.api.kinds.rbac.role_binding import RBAC_GROUP, ClusterRoleBindingStrategy, RoleBindingStrategy

BINDING, CLUSTER_BINDING = RoleBindingStrategy(), ClusterRoleBindingStrategy()


def binding(*subjects, kind="ClusterRole", name="r"):
    return {"metadata": {}, "roleRef": {"apiGroup": RBAC_GROUP, "kind": kind, "name": name}, "subjects": list(subjects)}


@pytest.mark.parametrize(
    ("subject", "complaints"),
    [
        pytest.param({"kind": "User", "apiGroup": RBAC_GROUP, "name": "u"}, [], id="user"),
        pytest.param(
            {"kind": "User", "name": "u"},
            [f'subjects[0].apiGroup: Unsupported value: "": supported values: "{RBAC_GROUP}"'],
            id="user without group",
        ),
        pytest.param(
            {"kind": "ServiceAccount", "name": "s"}, ["subjects[0].namespace: Required value"], id="account of nowhere"
        ),
        pytest.param(
            {"kind": "Robot", "name": "r"},
            ['subjects[0].kind: Unsupported value: "Robot": supported values: "ServiceAccount", "User", "Group"'],
            id="unknown kind",
        ),
    ],
)
def test_subjects_are_judged(judge, subject, complaints):
    assert [str(error) for error in CLUSTER_BINDING.validate(binding(subject), judge())] == complaints


def test_a_role_of_a_namespace_is_not_for_the_cluster(judge):
    assert BINDING.validate(binding(kind="Role"), judge()) == []
    assert [error.field for error in CLUSTER_BINDING.validate(binding(kind="Role"), judge())] == ["roleRef.kind"]


def test_the_role_never_changes(judge):
    (error,) = BINDING.validate_update(binding(name="b"), binding(name="a"), judge())
    assert str(error) == (
        f'roleRef: Invalid value: {{"APIGroup":"{RBAC_GROUP}","Kind":"ClusterRole","Name":"b"}}: cannot change roleRef'
    )
