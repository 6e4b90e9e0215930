"""Find the kind of a manifest, or of a resource name as kubectl takes it."""

from functools import lru_cache

from mockkube.api.catalogue import KINDS
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.client.protocol import Client
from mockkube.cluster.control.catalogue import KINDS as CONTROL_KINDS
from mockkube.lazy_dataclasses import dataclass
from mockkube.scenario.errors import StepFailed


@dataclass(frozen=True, slots=True)
class ResourceKind:
    """A kind with its group, plural and scope."""

    group: str
    kind: str
    plural: str
    namespaced: bool

    @property
    def name(self) -> str:
        """Name in the client protocol."""
        return f"{self.kind}.{self.group}" if self.group else self.kind

    @property
    def resource(self) -> str:
        """Name in kubectl: `pods`, `deployments.apps`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural


def parse_group(api_version: str) -> str:
    """Return the group of an apiVersion."""
    return api_version.rpartition("/")[0]


@lru_cache(maxsize=1)
def _built_in_kinds() -> dict[tuple[str, str], ResourceKind]:
    """Return built-in kinds by group and kind."""
    known: dict[tuple[str, str], ResourceKind] = {}
    for one in (*KINDS, *CONTROL_KINDS):
        known.setdefault((one.group, one.kind), ResourceKind(one.group, one.kind, one.plural, one.namespaced))
    return known


@lru_cache(maxsize=1)
def _kinds_by_name() -> dict[str, ResourceKind]:
    """Return built-in kinds by every name that kubectl accepts; the first kind with a name keeps it."""
    words: dict[str, ResourceKind] = {}
    for one in (*KINDS, *CONTROL_KINDS):
        named = _built_in_kinds()[(one.group, one.kind)]
        singular = one.singular or one.kind.lower()
        for word in (one.plural, singular, *one.short_names):
            words.setdefault(word, named)
            words.setdefault(f"{word}.{one.group}", named)
    return words


async def find_kind(client: Client, obj: ReadOnlyObject) -> ResourceKind:
    """Return the kind of a manifest; StepFailed if no server serves it."""
    group, kind = parse_group(obj["apiVersion"]), obj["kind"]
    known = _built_in_kinds().get((group, kind))
    if known is not None:
        return known
    # CRDs are read each time: an earlier step of the scenario may have created one.
    for one in await _list_custom_kinds(client):
        if (one.group, one.kind) == (group, kind):
            return one
    raise StepFailed(f'no matches for kind "{kind}" in version "{obj["apiVersion"]}"')


async def find_kind_by_name(client: Client, word: str) -> ResourceKind:
    """Return the kind of a resource name; StepFailed in kubectl's words if there is none."""
    known = _kinds_by_name().get(word.lower())
    if known is not None:
        return known
    for one in await _list_custom_kinds(client):
        if word.lower() in (one.plural, one.kind.lower(), one.resource):
            return one
    raise StepFailed(f'the server doesn\'t have a resource type "{word}"')


async def _list_custom_kinds(client: Client) -> list[ResourceKind]:
    """Return the kinds of all CustomResourceDefinitions."""
    found = []
    for definition in (await client.list("CustomResourceDefinition.apiextensions.k8s.io")).items:
        spec = definition["spec"]
        names = spec["names"]
        found.append(ResourceKind(spec["group"], names["kind"], names["plural"], spec["scope"] == "Namespaced"))
    return found
