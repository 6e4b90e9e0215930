"""Names of admission configuration that are kept for manifests on the server's disk."""

from typing import Final

from mockkube.api.fields import FieldError, invalid, quoted
from mockkube.api.strategy import Judge, Strategy
from mockkube.api.types import ReadOnlyObject

SUFFIX: Final = ".static.k8s.io"
GATE: Final = "ManifestBasedAdmissionControlConfig"
_RESERVED: Final = (
    f"names ending with {quoted(SUFFIX)} are reserved for static manifest-based configurations and cannot be managed "
    "via the API"
)


class StaticNameStrategy(Strategy):
    """A kind that may also come from manifests: it warns of names that are theirs."""

    native = False

    def warn_create(self, obj: ReadOnlyObject, judge: Judge) -> list[str]:
        """Warn of a reserved name, where it is not refused."""
        return [] if judge.caps.enabled(GATE) else _warnings(obj)

    def warn_update(self, new: ReadOnlyObject, old: ReadOnlyObject, judge: Judge) -> list[str]:
        """Warn of a reserved name."""
        return _warnings(new)


def static_name_errors(obj: ReadOnlyObject, judge: Judge) -> list[FieldError]:
    """Refuse a reserved name, where manifests are read."""
    name = obj["metadata"].get("name", "")
    refused = judge.caps.enabled(GATE) and name.endswith(SUFFIX)
    return [invalid("metadata.name", name, _RESERVED)] if refused else []


def _warnings(obj: ReadOnlyObject) -> list[str]:
    return [f"metadata.name: {_RESERVED}"] if obj["metadata"].get("name", "").endswith(SUFFIX) else []
