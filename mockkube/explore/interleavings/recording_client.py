"""Client of the operator that records what its requests read: a request that is refused writes nothing."""

from functools import cache
from typing import Final

from mockkube.api.catalogue import KINDS
from mockkube.client.delegating_client import DelegatingClient
from mockkube.client.protocol import Client
from mockkube.explore.interleavings.accesses import AccessRecorder
from mockkube.explore.interleavings.recording import name_stored

_OF_COLLECTIONS: Final = frozenset(("list", "watch", "deletecollection"))


class RecordingClient(DelegatingClient):
    """Client that records the objects and collections that requests are about."""

    def __init__(self, client: Client, recorder: AccessRecorder) -> None:
        super().__init__(client)
        self._recorder = recorder

    def _before_request(self, verb: str, kind: str = "", namespace: str = "", name: str = "") -> None:
        if verb in _OF_COLLECTIONS:
            self._recorder.read(f"store {_find_collection(kind)} {namespace or '*'}")
        elif name:
            self._recorder.read(name_stored(_find_collection(kind), namespace, name))


@cache
def _find_collection(kind: str) -> str:
    """Return group and plural of a kind as in traces; custom kinds are taken to have a regular plural."""
    name, _, group = kind.partition(".")
    for one in KINDS:
        if one.kind == name and group in ("", one.group):
            return f"{one.group or 'core'}/{one.plural}"
    return f"{group or 'core'}/{name.lower()}s"
