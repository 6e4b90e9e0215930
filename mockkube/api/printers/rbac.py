"""Printer for RoleBindings and ClusterRoleBindings; roles have no printer."""

from datetime import datetime

from mockkube.api.printers.ages import age
from mockkube.api.printers.reading import name_of, section, sections, string
from mockkube.api.printers.table import AGE, NAME, Cell, Printer, text_column, wide_column
from mockkube.api.types import ReadOnlyObject


def binding_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a RoleBinding or ClusterRoleBinding; unknown kinds of subjects are omitted."""
    role = section(obj, "roleRef")
    subjects = sections(obj, "subjects")
    accounts = [
        f"{string(subject, 'namespace')}/{string(subject, 'name_of')}"
        for subject in subjects
        if subject.get("kind") == "ServiceAccount"
    ]
    return [
        name_of(obj),
        f"{string(role, 'kind')}/{string(role, 'name_of')}",
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
        text_column("Role", "The role that is given."),
        AGE,
        wide_column("Users", "The users it is given to."),
        wide_column("Groups", "The groups."),
        wide_column("ServiceAccounts", "The service accounts."),
    ),
    binding_cells,
)
