import pytest

from mockkube.api.kinds.rbac.role_binding import default_binding
from mockkube.features.capabilities import Capabilities

GROUP = "rbac.authorization.k8s.io"


@pytest.mark.parametrize(
    ("subject", "group"),
    [
        pytest.param({"kind": "User", "name": "u"}, GROUP, id="a user"),
        pytest.param({"kind": "Group", "name": "g"}, GROUP, id="a group"),
        pytest.param({"kind": "ServiceAccount", "name": "s"}, None, id="an account is of the core"),
        pytest.param({"kind": "User", "apiGroup": "other"}, "other", id="as was said"),
    ],
)
def test_subjects_belong_to_a_group(subject, group):
    default_binding({"roleRef": {"apiGroup": GROUP}, "subjects": [subject]}, Capabilities())
    assert subject.get("apiGroup") == group


@pytest.mark.parametrize(("given", "kept"), [("", GROUP), ("other", "other")])
def test_roles_belong_to_a_group(given, kept):
    obj = {"roleRef": {"apiGroup": given, "kind": "Role", "name": "r"}}
    default_binding(obj, Capabilities())
    assert obj["roleRef"]["apiGroup"] == kept
