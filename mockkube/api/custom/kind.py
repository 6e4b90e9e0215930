"""A kind that a definition brings along, at one version."""

from dataclasses import dataclass

from mockkube.api.catalogue import KindInfo


@dataclass(frozen=True, slots=True)
class CustomKind(KindInfo):
    """As a built-in one; its lists are called, and its verbs shown, as the definition has it."""

    named_list: str = ""
    listed_verbs: tuple[str, ...] = ()
    """What discovery says can be done, in its order."""

    @property
    def list_kind(self) -> str:
        """The kind of a collection."""
        return self.named_list or f"{self.kind}List"
