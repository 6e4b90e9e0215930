"""Types of patches, by their media types."""

from enum import StrEnum


class PatchType(StrEnum):
    """Media type of a patch."""

    JSON = "application/json-patch+json"
    MERGE = "application/merge-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"
    APPLY = "application/apply-patch+yaml"
