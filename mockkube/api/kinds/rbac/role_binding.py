"""RoleBinding and ClusterRoleBinding: strategies, defaults, validation, printer columns."""

from datetime import datetime
from typing import Final

from mockkube.api import names
from mockkube.api.fields import FieldError, invalid, not_supported, required
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kind import Kind
from mockkube.api.printers.accessors import name_of, section, sections, string
from mockkube.api.printers.ages import format_age
from mockkube.api.printers.table import AGE_COLUMN, NAME_COLUMN, Cell, Printer, text_column, wide_column
from mockkube.api.strategy import Strategy, StrategyContext
from mockkube.api.validation.internal_form import InternalShape, to_internal
from mockkube.features.capabilities import Capabilities

_GROUP: Final = "rbac.authorization.k8s.io"


def default_binding(binding: Object, caps: Capabilities) -> None:
    """Default the API groups of the role reference and of users and groups."""
    # upstream 1.36: pkg/apis/rbac/v1/defaults.go
    role = binding.setdefault("roleRef", {})
    if not role.get("apiGroup"):
        role["apiGroup"] = _GROUP
    for subject in binding.get("subjects") or ():
        if subject.get("kind") in ("User", "Group"):
            subject.setdefault("apiGroup", _GROUP)


RBAC_GROUP: Final = "rbac.authorization.k8s.io"
_REFERENCE: Final[InternalShape] = (("APIGroup", "apiGroup", ""), ("Kind", "kind", ""), ("Name", "name", ""))


class RoleBindingStrategy(Strategy):
    """Strategy of RoleBinding; a PUT may create it."""

    allow_create_on_update = True
    namespaced = True
    role_kinds: tuple[str, ...] = ("Role", "ClusterRole")

    def validate_name(self, name: str, *, prefix: bool = False) -> list[str]:
        """Require a path segment: names such as `system:node` have colons."""
        return names.check_path_segment(name, prefix=prefix)

    def validate(self, obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate the role reference and each subject."""
        ref = obj.get("roleRef") or {}
        group, kind, name = ref.get("apiGroup", ""), ref.get("kind", ""), ref.get("name", "")
        errors = [] if group == RBAC_GROUP else [not_supported("roleRef.apiGroup", group, (RBAC_GROUP,))]
        if kind not in self.role_kinds:
            errors.append(not_supported("roleRef.kind", kind, self.role_kinds))
        if name:
            errors += [invalid("roleRef.name", name, message) for message in names.check_path_segment(name)]
        else:
            errors.append(required("roleRef.name"))
        for index, subject in enumerate(obj.get("subjects") or []):
            errors += _validate_subject(subject, f"subjects[{index}]", namespaced=self.namespaced)
        return errors

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate as on creation, and reject another role."""
        errors = self.validate(new, context)
        # With a fixed role, users can be allowed to edit the subjects of a binding without being able to choose the
        # role.
        if new.get("roleRef") != old.get("roleRef"):
            errors.append(
                invalid("roleRef", to_internal(new.get("roleRef") or {}, _REFERENCE), "cannot change roleRef")
            )
        return errors


class ClusterRoleBindingStrategy(RoleBindingStrategy):
    """Strategy of ClusterRoleBinding."""

    namespaced = False
    role_kinds = ("ClusterRole",)


def _validate_subject(subject: ReadOnlyObject, at: str, *, namespaced: bool) -> list[FieldError]:
    name, group = subject.get("name", ""), subject.get("apiGroup", "")
    errors = [] if name else [required(f"{at}.name")]
    match subject.get("kind", ""):
        case "ServiceAccount":
            if name:
                errors += [invalid(f"{at}.name", name, message) for message in names.check_dns_subdomain(name)]
            if group:
                errors.append(not_supported(f"{at}.apiGroup", group, ("",)))
            if not namespaced and not subject.get("namespace"):
                errors.append(required(f"{at}.namespace"))
        case "User" | "Group":
            if group != RBAC_GROUP:
                errors.append(not_supported(f"{at}.apiGroup", group, (RBAC_GROUP,)))
        case kind:
            errors.append(not_supported(f"{at}.kind", kind, ("ServiceAccount", "User", "Group")))
    return errors


def binding_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a binding; subjects of unknown kinds are omitted."""
    role = section(obj, "roleRef")
    subjects = sections(obj, "subjects")
    accounts = [
        f"{string(subject, 'namespace')}/{string(subject, 'name')}"
        for subject in subjects
        if subject.get("kind") == "ServiceAccount"
    ]
    return [
        name_of(obj),
        f"{string(role, 'kind')}/{string(role, 'name')}",
        format_age(obj, now),
        _format_subject_names(subjects, "User"),
        _format_subject_names(subjects, "Group"),
        ", ".join(accounts),
    ]


def _format_subject_names(subjects: list[ReadOnlyObject], kind: str) -> str:
    return ", ".join(string(subject, "name") for subject in subjects if subject.get("kind") == kind)


BINDING = Printer(
    (
        NAME_COLUMN,
        text_column("Role", "The granted role."),
        AGE_COLUMN,
        wide_column("Users", "Users that have the role."),
        wide_column("Groups", "Groups that have the role."),
        wide_column("ServiceAccounts", "Service accounts that have the role."),
    ),
    binding_cells,
)

CLUSTER_ROLE_BINDING_KIND: Final = Kind(
    "rbac.authorization.k8s.io",
    "ClusterRoleBinding",
    "clusterrolebindings",
    namespaced=False,
    strategy=lambda _: ClusterRoleBindingStrategy(),
    defaults={"v1": default_binding},
    printer=BINDING,
)
ROLE_BINDING_KIND: Final = Kind(
    "rbac.authorization.k8s.io",
    "RoleBinding",
    "rolebindings",
    strategy=lambda _: RoleBindingStrategy(),
    defaults={"v1": default_binding},
    printer=BINDING,
)
