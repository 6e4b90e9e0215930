"""Kind of a custom resource whose objects have pods."""

from mockkube.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CustomKind:
    """Kind of a custom resource, with its group and version."""

    group: str
    version: str
    kind: str

    @property
    def api_version(self) -> str:
        """API version of its objects."""
        return f"{self.group}/{self.version}"

    @property
    def qualified(self) -> str:
        """Kind with its group, as clients name it."""
        return f"{self.kind}.{self.group}"
