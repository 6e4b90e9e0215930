"""What a kind does beyond the generic: the hooks around every write, and what may be selected by field.

The registry calls, for a create: admission, then `prepare_create`, `validate_create` and validating admission; for an
update the same with `prepare_update` and `validate_update`. Objects come decoded, pruned and defaulted, in the storage
version. Hooks that prepare may change the new object in place (it belongs to the request); the old object is
shared and only read. Validators return every complaint, in upstream's order; warnings are texts for the
`Warning` header. Generic metadata (name, labels, owner references, immutable fields) is the registry's.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from mockkube.api import names
from mockkube.api.fields import FieldError
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.features.capabilities import Capabilities


def _no_namespaces(name: str) -> Mapping[str, str] | None:
    return None


@dataclass(frozen=True, slots=True)
class Judge:
    """What a hook may know besides the objects: the server's capabilities, the present, the subresource written to."""

    caps: Capabilities
    now: datetime
    subresource: str = ""
    namespace_labels: Callable[[str], Mapping[str, str] | None] = _no_namespaces
    """The labels of a namespace; None of one that is not there."""
    requester: ReadOnlyObject = field(default_factory=dict)
    """Who asks, as a UserInfo, where that is kept."""


class Strategy:
    """The behaviour of a plain kind: no status, no rules of its own. Kinds override what they need."""

    allow_create_on_update = False
    """A PUT to a name that does not exist creates it."""
    allow_unconditional_update = True
    """A PUT without resourceVersion overwrites whatever is stored."""
    keeps_requester = False
    """`Judge.requester` says who creates an object."""
    native = True
    """Its finalizers must be Kubernetes' own or qualified; some groups do not ask that of their kinds."""
    tracks_generation = False
    """`metadata.generation` starts at 1 and rises when `spec` changes."""

    def prepare_create(self, obj: Object, judge: Judge) -> None:
        """Drop what a client may not set on creation, and set what the server does."""
        if self.tracks_generation:
            obj["metadata"]["generation"] = 1

    def prepare_update(self, new: Object, old: ReadOnlyObject, judge: Judge) -> None:
        """Bring back what an update may not touch; `judge.subresource` names a subresource that is written to."""
        if self.tracks_generation:
            keep_generation(new, old)

    def validate_name(self, name: str, *, prefix: bool = False) -> list[str]:
        """Say what is wrong with the name (or, with `prefix`, with a generateName)."""
        return names.dns_subdomain(name, prefix=prefix)

    def validate_create(self, obj: ReadOnlyObject, judge: Judge) -> list[FieldError]:
        """Judge a new object."""
        return []

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, judge: Judge) -> list[FieldError]:
        """Judge a change; `judge.subresource` as above."""
        return []

    def warn_create(self, obj: ReadOnlyObject, judge: Judge) -> list[str]:
        """Warnings that come with a successful creation."""
        return []

    def warn_update(self, new: ReadOnlyObject, old: ReadOnlyObject, judge: Judge) -> list[str]:
        """Warnings that come with a successful update."""
        return []

    def canonicalize(self, obj: Object) -> None:
        """Put the valid object into its canonical form."""

    def fields(self, obj: ReadOnlyObject) -> Mapping[str, str]:
        """The values field selectors see, besides metadata.name and metadata.namespace (a hot path: keep it flat)."""
        return {}

    selectable: tuple[str, ...] = ()
    """The names `fields` answers for."""

    def grace_seconds(self, obj: ReadOnlyObject, requested: int | None) -> int | None:
        """How long a deletion waits; None: the kind is not deleted gracefully."""
        return None


def keep_generation(new: Object, old: ReadOnlyObject) -> None:
    """Carry the generation over, one higher when the spec changed."""
    generation = old["metadata"].get("generation", 0)
    new["metadata"]["generation"] = generation + 1 if new.get("spec") != old.get("spec") else generation


class StatusStrategy(Strategy):
    """A kind with a status subresource: the main resource cannot touch status, the subresource nothing else."""

    tracks_generation = True

    def empty_status(self) -> Object:
        """The status of an object nobody has reported on."""
        return {}

    def prepare_create(self, obj: Object, judge: Judge) -> None:
        """Start without a status."""
        super().prepare_create(obj, judge)
        obj["status"] = self.empty_status()

    def prepare_update(self, new: Object, old: ReadOnlyObject, judge: Judge) -> None:
        """Keep the status, or through the subresource everything but the status."""
        if judge.subresource == "status":
            self.prepare_status(new, old, judge)
            return
        new["status"] = old.get("status", self.empty_status())
        super().prepare_update(new, old, judge)

    def prepare_status(self, new: Object, old: ReadOnlyObject, judge: Judge) -> None:
        """A write to the status subresource keeps the spec, and of the metadata what upstream keeps."""
        if "spec" in old:
            new["spec"] = old["spec"]
        else:
            new.pop("spec", None)
        for kept in ("generation",):
            if kept in old["metadata"]:
                new["metadata"][kept] = old["metadata"][kept]
