"""Printers for StorageVersions and StorageVersionMigrations."""

from datetime import datetime

from mockkube.api.printers.ages import age
from mockkube.api.printers.lists import shortened
from mockkube.api.printers.reading import name_of, sections, string
from mockkube.api.printers.table import AGE, NAME, UNSET, Cell, Column, Printer, text_column
from mockkube.api.types import ReadOnlyObject

_PROGRESS = ("Running", "Failed", "Succeeded")


def storage_version_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a StorageVersion."""
    servers = [
        f"{string(server, 'apiServerID')}={string(server, 'encodingVersion')}"
        for server in sections(obj, "status", "storageVersions")
    ]
    common = string(obj, "status", "commonEncodingVersion", missing=UNSET)
    return [name_of(obj), common, shortened(servers, len(servers)), age(obj, now)]


def migration_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a StorageVersionMigration; the last true condition counts."""
    resource, group = string(obj, "spec", "resource", "resource"), string(obj, "spec", "resource", "group")
    holding = [
        string(found, "type")
        for found in sections(obj, "status", "conditions")
        if found.get("status") == "True" and found.get("type") in _PROGRESS
    ]
    return [name_of(obj), f"{resource}.{group}" if group else resource, holding[-1] if holding else "Unknown"]


STORAGE_VERSION = Printer(
    (
        NAME,
        text_column("CommonEncodingVersion", "The encoding all servers use."),
        text_column("StorageVersions", "The encoding of each server."),
        AGE,
    ),
    storage_version_cells,
)
STORAGE_VERSION_MIGRATION = Printer(
    (
        Column(NAME.name, description=NAME.description),
        text_column("Resource", "What is migrated."),
        text_column("Status", "How far the migration is."),
    ),
    migration_cells,
)
