"""Values that follow from the specs of pods, known once for all pods with equal specs, like replicas of a workload."""

from typing import Any, Final

import orjson

from mockkube.api.json_objects import ReadOnlyObject

# Specs after which all are forgotten; one that is still in use is soon known again.
SPECS_MAX: Final = 1024
_SPEC_BYTES_MAX: Final = 8 * 1024
# Prefix of the volume that admission adds for the token of the service account, with a name of its own for each pod.
_VOLUME_PREFIX: Final = "kube-api-access-"


class SpecValues:
    """Derived values by spec, without the node's name and the random name of the token's volume.

    What plugins derive depends on their version and gates, so each scheduler has its own.
    """

    def __init__(self) -> None:
        self._values: dict[bytes, dict[object, Any]] = {}

    def get(self, spec: ReadOnlyObject) -> dict[object, Any]:  # hot: per pod
        """Return the values derived from equal specs, by who derived them."""
        text = _render(spec)
        if len(text) > _SPEC_BYTES_MAX:
            return {}
        known = self._values.get(text)
        if known is None:
            if len(self._values) >= SPECS_MAX:
                self._values = {}
            known = self._values[text] = {}
        return known


def _render(spec: ReadOnlyObject) -> bytes:
    if "nodeName" in spec:
        spec = {name: value for name, value in spec.items() if name != "nodeName"}
    text = orjson.dumps(spec)
    for volume in spec.get("volumes") or ():
        name = volume.get("name")
        if isinstance(name, str) and name.startswith(_VOLUME_PREFIX):
            return text.replace(b'"%b"' % name.encode(), b'"%b"' % _VOLUME_PREFIX.encode())
    return text
