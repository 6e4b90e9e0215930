"""StorageVersion: printer columns."""

from datetime import datetime
from typing import Final

from mockkube.api.catalogue import STATUS
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.kind import Kind
from mockkube.api.printers.accessors import name_of, sections, string
from mockkube.api.printers.ages import format_age
from mockkube.api.printers.lists import join_shortened
from mockkube.api.printers.table import AGE_COLUMN, NAME_COLUMN, UNSET, Cell, Printer, text_column


def storage_version_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a StorageVersion."""
    encodings = [
        f"{string(server, 'apiServerID')}={string(server, 'encodingVersion')}"
        for server in sections(obj, "status", "storageVersions")
    ]
    common = string(obj, "status", "commonEncodingVersion", missing=UNSET)
    return [name_of(obj), common, join_shortened(encodings, len(encodings)), format_age(obj, now)]


STORAGE_VERSION = Printer(
    (
        NAME_COLUMN,
        text_column("CommonEncodingVersion", "The encoding version that all servers use."),
        text_column("StorageVersions", "The encoding version of each server."),
        AGE_COLUMN,
    ),
    storage_version_cells,
)

KIND: Final = Kind(
    "internal.apiserver.k8s.io",
    "StorageVersion",
    "storageversions",
    namespaced=False,
    versions=("v1alpha1",),
    subresources=(STATUS,),
    printer=STORAGE_VERSION,
)
