"""Strategies: hooks of a kind around every write, and the fields it can be selected by.

The registry calls, for a create: admission, then `prepare_for_create`, `validate` and validating admission;
for an update the same with `prepare_for_update` and `validate_update`. Objects come decoded, pruned and defaulted, in
the storage version. Hooks that prepare may change the new object in place (it belongs to the request); the old
object is shared and only read. Validators return all errors, in upstream's order; warnings are texts for the
`Warning` header. Generic metadata (name, labels, owner references, immutable fields) is the registry's task.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Final, NamedTuple

from mockkube.api import names
from mockkube.api.fields import FieldError
from mockkube.api.heartbeat_times import HeartbeatTimes
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.features.capabilities import Capabilities
from mockkube.features.versions import Version

_NO_REQUESTER: Final[ReadOnlyObject] = MappingProxyType({})


def _no_namespaces(name: str) -> Mapping[str, str] | None:
    return None


# Named tuples are made in a third of the time of frozen dataclasses: each write makes several of these.
class StrategyContext(NamedTuple):
    """Context of a hook: capabilities of the server, present time, subresource of the request."""

    caps: Capabilities
    now: datetime
    subresource: str = ""
    # Returns the labels of a namespace; None if it does not exist.
    namespace_labels: Callable[[str], Mapping[str, str] | None] = _no_namespaces
    # The requesting user as a UserInfo, for kinds that record it.
    requester: ReadOnlyObject = _NO_REQUESTER
    # The metadata of an update has been found valid: generically, with any segment of a path as a name.
    metadata_is_valid: bool = False


class Strategy:
    """Strategy of a plain kind without status or rules; other kinds override what they need."""

    # A PUT to a name that does not exist creates the object.
    allow_create_on_update = False
    # A PUT without resourceVersion overwrites the stored object.
    allow_unconditional_update = True
    # The kind records who creates an object, from `StrategyContext.requester`.
    records_requester = False
    # Finalizers must be Kubernetes' own or qualified; some API groups do not validate that.
    requires_qualified_finalizers = True
    # `metadata.generation` starts at 1 and increases when `spec` changes.
    tracks_generation = False
    # Times that heartbeats set, by subresource: nothing else in an update of the kind depends on them.
    heartbeat_times: Mapping[str, HeartbeatTimes] = {}

    def prepare_for_create(self, obj: Object, context: StrategyContext) -> None:
        """Drop fields that a client may not set on creation, and set those of the server."""
        if self.tracks_generation:
            obj["metadata"]["generation"] = 1

    def prepare_for_update(self, new: Object, old: ReadOnlyObject, context: StrategyContext) -> None:
        """Restore fields that an update may not change; `context.subresource` is the subresource of the write."""
        if self.tracks_generation:
            keep_generation(new, old)

    def validate_name(self, name: str, *, prefix: bool = False) -> list[str]:
        """Return the errors of a name (or, with `prefix`, of a generateName)."""
        return names.check_dns_subdomain(name, prefix=prefix)

    def validate(self, obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate a new object."""
        return []

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate an update of the object or of `context.subresource`."""
        return []

    def warnings_on_create(self, obj: ReadOnlyObject, context: StrategyContext) -> list[str]:
        """Return the warnings that come with a successful creation."""
        return []

    def warnings_on_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[str]:
        """Return the warnings that come with a successful update."""
        return []

    def canonicalize(self, obj: Object) -> None:
        """Bring the valid object into its canonical form, in place."""

    def selectable_fields(self, obj: ReadOnlyObject) -> Mapping[str, str]:
        """Return the values for field selectors, besides metadata.name and metadata.namespace."""
        return {}

    # Names of the fields that `selectable_fields` returns.
    selectable_field_names: tuple[str, ...] = ()
    # Versions since which some of them can be selected.
    selectable_since: Mapping[str, Version] = MappingProxyType({})

    def grace_seconds(self, obj: ReadOnlyObject, requested: int | None) -> int | None:
        """Return the grace period of a deletion; None if the kind is not deleted gracefully."""
        return None


def keep_generation(new: Object, old: ReadOnlyObject) -> None:
    """Keep the generation of the stored object, one higher if the spec changed."""
    generation = old["metadata"].get("generation", 0)
    new["metadata"]["generation"] = generation + 1 if new.get("spec") != old.get("spec") else generation


class StatusStrategy(Strategy):
    """Strategy of a kind with a status subresource: each of the two writes leaves the other part unchanged."""

    tracks_generation = True

    def empty_status(self) -> Object:
        """Return the status of a new object."""
        return {}

    def prepare_for_create(self, obj: Object, context: StrategyContext) -> None:
        """Reset the status."""
        super().prepare_for_create(obj, context)
        obj["status"] = self.empty_status()

    def prepare_for_update(self, new: Object, old: ReadOnlyObject, context: StrategyContext) -> None:
        """Keep the status; in a write to the subresource, keep everything else."""
        if context.subresource == "status":
            self.prepare_for_status_update(new, old, context)
            return
        new["status"] = old.get("status", self.empty_status())
        super().prepare_for_update(new, old, context)

    def prepare_for_status_update(self, new: Object, old: ReadOnlyObject, context: StrategyContext) -> None:
        """Prepare a write to the status subresource: the spec stays, and of the metadata what upstream keeps."""
        if "spec" in old:
            new["spec"] = old["spec"]
        else:
            new.pop("spec", None)
        for kept in ("generation",):
            if kept in old["metadata"]:
                new["metadata"][kept] = old["metadata"][kept]
