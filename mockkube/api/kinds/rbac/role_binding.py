"""RoleBinding and ClusterRoleBinding: a role, which never changes, and who has it."""

from typing import Final

from mockkube.api import names
from mockkube.api.fields import FieldError, invalid, not_supported, required
from mockkube.api.kinds.internal_form import Shape, internal
from mockkube.api.strategy import Judge, Strategy
from mockkube.api.types import ReadOnlyObject

GROUP: Final = "rbac.authorization.k8s.io"
_REFERENCE: Final[Shape] = (("APIGroup", "apiGroup", ""), ("Kind", "kind", ""), ("Name", "name", ""))


class RoleBindingStrategy(Strategy):
    """Who has a role in a namespace; a PUT may create it."""

    allow_create_on_update = True
    namespaced = True
    role_kinds: tuple[str, ...] = ("Role", "ClusterRole")

    def validate_name(self, name: str, *, prefix: bool = False) -> list[str]:
        """A binding is named like a step in a path."""
        return names.path_segment(name, prefix=prefix)

    def validate_create(self, obj: ReadOnlyObject, judge: Judge) -> list[FieldError]:
        """Judge the reference and each subject."""
        ref = obj.get("roleRef") or {}
        group, kind, name = ref.get("apiGroup", ""), ref.get("kind", ""), ref.get("name", "")
        errors = [] if group == GROUP else [not_supported("roleRef.apiGroup", group, (GROUP,))]
        if kind not in self.role_kinds:
            errors.append(not_supported("roleRef.kind", kind, self.role_kinds))
        if name:
            errors += [invalid("roleRef.name", name, message) for message in names.path_segment(name)]
        else:
            errors.append(required("roleRef.name"))
        for index, subject in enumerate(obj.get("subjects") or []):
            errors += _validate_subject(subject, f"subjects[{index}]", namespaced=self.namespaced)
        return errors

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, judge: Judge) -> list[FieldError]:
        """Judge as on creation, and refuse another role."""
        errors = self.validate_create(new, judge)
        if new.get("roleRef") != old.get("roleRef"):
            errors.append(invalid("roleRef", internal(new.get("roleRef") or {}, _REFERENCE), "cannot change roleRef"))
        return errors


class ClusterRoleBindingStrategy(RoleBindingStrategy):
    """Who has a role everywhere."""

    namespaced = False
    role_kinds = ("ClusterRole",)


def _validate_subject(subject: ReadOnlyObject, at: str, *, namespaced: bool) -> list[FieldError]:
    name, group = subject.get("name", ""), subject.get("apiGroup", "")
    errors = [] if name else [required(f"{at}.name")]
    match subject.get("kind", ""):
        case "ServiceAccount":
            if name:
                errors += [invalid(f"{at}.name", name, message) for message in names.dns_subdomain(name)]
            if group:
                errors.append(not_supported(f"{at}.apiGroup", group, ("",)))
            if not namespaced and not subject.get("namespace"):
                errors.append(required(f"{at}.namespace"))
        case "User" | "Group":
            if group != GROUP:
                errors.append(not_supported(f"{at}.apiGroup", group, (GROUP,)))
        case kind:
            errors.append(not_supported(f"{at}.kind", kind, ("ServiceAccount", "User", "Group")))
    return errors
