"""Selectors of autoscalers: which pods more than one of them would scale."""

from collections.abc import Iterable
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.selectors.labels import LabelSelector
from mockkube.client.protocol import Key
from mockkube.features.versions import Version

# From this version on, at most two of the autoscalers are named.
_NAMES_TWO: Final = Version(1, 37)


class AutoscalerSelectors:
    """Selector of each autoscaler, as of its last reconciliation."""

    def __init__(self) -> None:
        self._selectors: dict[Key, LabelSelector] = {}

    def set(self, key: Key, selector: LabelSelector) -> None:
        """Remember the selector of an autoscaler."""
        self._selectors[key] = selector

    def forget(self, key: Key) -> None:
        """Drop a deleted autoscaler."""
        self._selectors.pop(key, None)

    def find_selecting(self, namespace: str, pods: Iterable[ReadOnlyObject]) -> list[Key]:
        """Return the autoscalers of a namespace whose selectors select one of the pods."""
        labels = [pod["metadata"].get("labels") or {} for pod in pods]
        return [
            key
            for key, selector in self._selectors.items()
            if key.namespace == namespace and any(map(selector.matches, labels))
        ]


def describe_ambiguity(selector: str, autoscalers: list[Key], version: Version) -> str:
    """Return upstream's text for pods that several autoscalers select."""
    # Go prints the keys as structs, the name first.
    if version >= _NAMES_TWO:
        named = " ".join(f"{{{key.name} {key.namespace}}}" for key in autoscalers[:2])
        return f"pods by selector {selector} are controlled by more than one HPA (e.g. [{named}])"
    named = " ".join(f"{{{key.name} {key.namespace}}}" for key in autoscalers)
    return f"pods by selector {selector} are controlled by multiple HPAs: [{named}]"
