"""Printers for Leases and LeaseCandidates."""

from datetime import datetime

from mockkube.api.printers.ages import age
from mockkube.api.printers.reading import name_of, string
from mockkube.api.printers.table import AGE, NAME, Cell, Printer, text_column
from mockkube.api.types import ReadOnlyObject


def lease_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a Lease."""
    return [name_of(obj), string(obj, "spec", "holderIdentity"), age(obj, now)]


def lease_candidate_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a LeaseCandidate."""
    shown = [string(obj, "spec", key) for key in ("leaseName", "binaryVersion", "emulationVersion")]
    return [name_of(obj), *shown, age(obj, now)]


LEASE = Printer((NAME, text_column("Holder", "Who holds it."), AGE), lease_cells)
LEASE_CANDIDATE = Printer(
    (
        NAME,
        text_column("LeaseName", "The lease it stands for."),
        text_column("BinaryVersion", "The version that runs."),
        text_column("EmulationVersion", "The version that one behaves as."),
        AGE,
    ),
    lease_candidate_cells,
)
