"""StorageVersionMigration: printer columns."""

from datetime import datetime
from typing import Final

from mockkube.api.catalogue import STATUS
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.kind import Kind
from mockkube.api.printers.accessors import name_of, sections, string
from mockkube.api.printers.table import NAME_COLUMN, Cell, Column, Printer, text_column

_PROGRESS_CONDITIONS = ("Running", "Failed", "Succeeded")


def migration_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a StorageVersionMigration; the last true condition counts."""
    resource, group = string(obj, "spec", "resource", "resource"), string(obj, "spec", "resource", "group")
    states = [
        string(condition, "type")
        for condition in sections(obj, "status", "conditions")
        if condition.get("status") == "True" and condition.get("type") in _PROGRESS_CONDITIONS
    ]
    return [name_of(obj), f"{resource}.{group}" if group else resource, states[-1] if states else "Unknown"]


STORAGE_VERSION_MIGRATION = Printer(
    (
        Column(NAME_COLUMN.name, description=NAME_COLUMN.description),
        text_column("Resource", "The resource that is migrated."),
        text_column("Status", "Progress of the migration."),
    ),
    migration_cells,
)

KIND: Final = Kind(
    "storagemigration.k8s.io",
    "StorageVersionMigration",
    "storageversionmigrations",
    namespaced=False,
    versions=("v1", "v1beta1", "v1alpha1"),
    gate="StorageVersionMigrator",
    subresources=(STATUS,),
    printer=STORAGE_VERSION_MIGRATION,
)
