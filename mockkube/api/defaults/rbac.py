"""Defaults of RoleBindings and ClusterRoleBindings: API groups of roles and subjects."""

from typing import Final

from mockkube.api.types import Object
from mockkube.features.capabilities import Capabilities

_GROUP: Final = "rbac.authorization.k8s.io"


def default_binding(binding: Object, caps: Capabilities) -> None:
    """Fill in a RoleBinding or ClusterRoleBinding."""
    # upstream 1.36: pkg/apis/rbac/v1/defaults.go
    role = binding.setdefault("roleRef", {})
    if not role.get("apiGroup"):
        role["apiGroup"] = _GROUP
    for subject in binding.get("subjects") or ():
        if subject.get("kind") in ("User", "Group"):
            subject.setdefault("apiGroup", _GROUP)
