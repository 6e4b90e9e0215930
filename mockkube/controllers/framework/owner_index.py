"""Index of objects by their controller, and event handler that maps owned objects to their owners."""

from collections.abc import Callable

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.selectors.labels import LabelSelector, from_label_selector
from mockkube.client.informer import Informer, ObjectChange
from mockkube.client.protocol import Key, WatchEventType, key_of
from mockkube.controllers.framework.controller_ref_manager import controller_of, controller_uid

_INDEX = "controller"
_ORPHANS = "orphans of "


def _index_by_controller(obj: ReadOnlyObject) -> tuple[str, ...]:
    uid = controller_uid(obj)
    # Orphans share one index value per namespace, so that owners find them without reading all objects.
    return (uid or f"{_ORPHANS}{obj['metadata'].get('namespace', '')}",)


def find_owned(informer: Informer, uid: str) -> list[ReadOnlyObject]:
    """Return the objects that an owner controls."""
    return informer.index(_INDEX, _index_by_controller).get(uid)


def find_claimable(informer: Informer, owner: ReadOnlyObject) -> list[ReadOnlyObject]:
    """Return the objects that an owner controls or might adopt: the orphans of its namespace."""
    index, metadata = informer.index(_INDEX, _index_by_controller), owner["metadata"]
    return index.get(metadata["uid"]) + index.get(f"{_ORPHANS}{metadata['namespace']}")


def resolve_controller_ref(owners: Informer, kind: str, obj: ReadOnlyObject) -> ReadOnlyObject | None:
    """Return the controller of an object if it has that kind and exists with the same uid."""
    reference = controller_of(obj)
    if reference is None or reference["kind"] != kind:
        return None
    owner = owners.get(Key(obj["metadata"].get("namespace", ""), reference["name"]))
    return owner if owner is not None and owner["metadata"]["uid"] == reference["uid"] else None


def selector_of(owner: ReadOnlyObject) -> LabelSelector:
    """Return the label selector of an owner."""
    return from_label_selector(owner["spec"].get("selector"))


class OwnedObjectHandler:
    """Event handler that notifies owners of changes of the objects they own or might adopt."""

    def __init__(
        self,
        owners: Informer,
        kind: str,
        *,
        on_add: Callable[[Key, ReadOnlyObject], None],
        on_update: Callable[[Key, ReadOnlyObject, ReadOnlyObject | None], None],
        on_delete: Callable[[Key, ReadOnlyObject], None],
        selector: Callable[[ReadOnlyObject], LabelSelector] = selector_of,
    ) -> None:
        """`selector` returns the orphans an owner would adopt; an empty selector adopts none."""
        self._owners, self._kind, self._selector = owners, kind, selector
        self._on_add, self._on_update, self._on_delete = on_add, on_update, on_delete

    @property
    def name(self) -> str:
        """Reader name under which failures of this handler are shown."""
        return self._kind

    def hide_bad_object(self, obj: ReadOnlyObject, error: Exception) -> bool:
        """Hide an owner that cannot be read until it changes."""
        return self._owners.is_cached(obj) and self._owners.hide(obj, self.name, error)

    def handle(self, change: ObjectChange) -> None:
        """Notify the owners of a changed object; the start of termination counts as deletion."""
        obj = change.object
        # As upstream: a replacement is created when termination starts, and the final deletion then changes nothing.
        if change.type is WatchEventType.DELETED or (
            obj["metadata"].get("deletionTimestamp") and _was_not_terminating(change)
        ):
            self._handle_delete(obj, change.old)
            return
        if change.type is WatchEventType.ADDED:
            self._handle_add(obj)
        else:
            assert change.old is not None, "a change has a before"
            self._handle_update(obj, change.old)

    def _handle_delete(self, obj: ReadOnlyObject, old: ReadOnlyObject | None) -> None:
        # After a missed update the last state may name another owner than the cached one: both must know.
        for one in {controller_uid(obj): obj, **({controller_uid(old): old} if old else {})}.values():
            if (owner := resolve_controller_ref(self._owners, self._kind, one)) is not None:
                self._on_delete(key_of(owner), obj)

    def _handle_add(self, obj: ReadOnlyObject) -> None:
        if controller_of(obj) is None:
            self._notify_adopters(obj)
        elif (owner := resolve_controller_ref(self._owners, self._kind, obj)) is not None:
            self._on_add(key_of(owner), obj)

    def _handle_update(self, obj: ReadOnlyObject, old: ReadOnlyObject) -> None:
        moved = controller_uid(obj) != controller_uid(old)
        if moved and (before := resolve_controller_ref(self._owners, self._kind, old)) is not None:
            # The former owner sees its old state without `old`: it must not compute delays from the transition.
            self._on_update(key_of(before), old, None)
        if controller_of(obj) is not None:
            if (owner := resolve_controller_ref(self._owners, self._kind, obj)) is not None:
                self._on_update(key_of(owner), obj, old)
        # Other changes of an orphan cannot make it match a selector that it did not match before.
        elif controller_of(old) is not None or obj["metadata"].get("labels") != old["metadata"].get("labels"):
            self._notify_adopters(obj)

    def _notify_adopters(self, orphan: ReadOnlyObject) -> None:
        labels = orphan["metadata"].get("labels") or {}
        for owner in self._owners.list(orphan["metadata"]["namespace"]) if labels else ():
            selector = self._selector(owner)
            if not selector.is_empty and selector.matches(labels):
                self._on_update(key_of(owner), orphan, None)


def _was_not_terminating(change: ObjectChange) -> bool:
    return change.old is None or not change.old["metadata"].get("deletionTimestamp")
