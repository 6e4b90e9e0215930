"""Kind of a CRD, as discovery shows it."""

from mockkube.api.catalogue import KindInfo
from mockkube.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CrdKind(KindInfo):
    """Kind of a CRD; list kind and discovered verbs are the CRD's."""

    custom_list_kind: str = ""
    # Verbs in discovery, in its order.
    listed_verbs: tuple[str, ...] = ()

    @property
    def list_kind(self) -> str:
        """Kind of a list of the objects."""
        return self.custom_list_kind or f"{self.kind}List"
