"""A kind that a definition brings along, at one version."""

from dataclasses import dataclass

from mockkube.api.catalogue import Kind


@dataclass(frozen=True, slots=True)
class CustomKind(Kind):
    """As a built-in one; its lists are called as the definition says."""

    named_list: str = ""

    @property
    def list_kind(self) -> str:
        """The kind of a collection."""
        return self.named_list or f"{self.kind}List"
