"""Names reserved for admission configuration that is read from manifests on the server's disk.

Feature gate ManifestBasedAdmissionControlConfig.
"""

from typing import Final

from mockkube.api.fields import FieldError, invalid, quote
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.strategy import Strategy, StrategyContext

STATIC_SUFFIX: Final = ".static.k8s.io"
MANIFEST_CONFIG_GATE: Final = "ManifestBasedAdmissionControlConfig"
_RESERVED_NAME_DETAIL: Final = (
    f"names ending with {quote(STATIC_SUFFIX)} are reserved for static manifest-based configurations and cannot be "
    "managed via the API"
)


class StaticNameStrategy(Strategy):
    """Strategy that warns about names reserved for manifest-based configuration."""

    # Upstream does not check the finalizers of this group's kinds.
    requires_qualified_finalizers = False

    def warnings_on_create(self, obj: ReadOnlyObject, context: StrategyContext) -> list[str]:
        """Warn about a reserved name unless it is rejected anyway."""
        return [] if context.caps.enabled(MANIFEST_CONFIG_GATE) else _warnings(obj)

    def warnings_on_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[str]:
        """Warn about a reserved name."""
        # An object that has such a name already stays writable, so an update only warns, whether the gate is on or off.
        return _warnings(new)


def static_name_errors(obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
    """Reject a reserved name where the server reads manifests."""
    name = obj["metadata"].get("name", "")
    is_reserved = context.caps.enabled(MANIFEST_CONFIG_GATE) and name.endswith(STATIC_SUFFIX)
    return [invalid("metadata.name", name, _RESERVED_NAME_DETAIL)] if is_reserved else []


def _warnings(obj: ReadOnlyObject) -> list[str]:
    return (
        [f"metadata.name: {_RESERVED_NAME_DETAIL}"] if obj["metadata"].get("name", "").endswith(STATIC_SUFFIX) else []
    )
