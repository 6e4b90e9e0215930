"""Printer for RoleBindings and ClusterRoleBindings; roles have no printer."""

from datetime import datetime

from mockkube.api.printers.ages import age
from mockkube.api.printers.reading import name, section, sections, string
from mockkube.api.printers.table import AGE, NAME, Cell, Printer, text, wide
from mockkube.api.types import ReadOnlyObject


def binding_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a RoleBinding or ClusterRoleBinding; unknown kinds of subjects are omitted."""
    role = section(obj, "roleRef")
    subjects = sections(obj, "subjects")
    accounts = [
        f"{string(subject, 'namespace')}/{string(subject, 'name')}"
        for subject in subjects
        if subject.get("kind") == "ServiceAccount"
    ]
    return [
        name(obj),
        f"{string(role, 'kind')}/{string(role, 'name')}",
        age(obj, now),
        _named(subjects, "User"),
        _named(subjects, "Group"),
        ", ".join(accounts),
    ]


def _named(subjects: list[ReadOnlyObject], kind: str) -> str:
    return ", ".join(string(subject, "name") for subject in subjects if subject.get("kind") == kind)


BINDING = Printer(
    (
        NAME,
        text("Role", "The role that is given."),
        AGE,
        wide("Users", "The users it is given to."),
        wide("Groups", "The groups."),
        wide("ServiceAccounts", "The service accounts."),
    ),
    binding_cells,
)
