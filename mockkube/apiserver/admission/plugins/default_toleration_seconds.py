"""DefaultTolerationSeconds: let pods tolerate not-ready and unreachable nodes for five minutes."""

from collections.abc import Iterable
from typing import Final

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.apiserver.registry.admission import AdmissionAttributes, AdmissionPlugin

NOT_READY_TAINT: Final = "node.kubernetes.io/not-ready"
UNREACHABLE_TAINT: Final = "node.kubernetes.io/unreachable"
TOLERATION_SECONDS_DEFAULT: Final = 300


class DefaultTolerationSeconds(AdmissionPlugin):
    """Adds tolerations for the not-ready and unreachable taints, unless the pod has its own."""

    # upstream 1.36: plugin/pkg/admission/defaulttolerationseconds/admission.go
    name = "DefaultTolerationSeconds"
    resources = (("", "pods"),)

    def __init__(
        self,
        *,
        not_ready_seconds: int = TOLERATION_SECONDS_DEFAULT,
        unreachable_seconds: int = TOLERATION_SECONDS_DEFAULT,
    ) -> None:
        self.seconds = {NOT_READY_TAINT: not_ready_seconds, UNREACHABLE_TAINT: unreachable_seconds}

    def admit(self, request: AdmissionAttributes) -> None:
        """Complete the tolerations of a pod, also in updates."""
        if not request.is_for("", "pods"):
            return
        spec = request.new["spec"]
        tolerations = spec.get("tolerations") or []
        missing = _drop_tolerated(self.seconds, tolerations)
        if missing:
            spec["tolerations"] = [*tolerations, *(self._make_toleration(key) for key in missing)]

    def _make_toleration(self, key: str) -> Object:
        seconds = self.seconds[key]
        return {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds}


def _drop_tolerated(keys: Iterable[str], tolerations: Iterable[ReadOnlyObject]) -> list[str]:
    """Return the keys of taints that no toleration tolerates."""
    left = list(keys)
    for toleration in tolerations:
        if toleration.get("effect", "") in ("", "NoExecute"):
            key = toleration.get("key", "")
            if not key:
                return []
            if key in left:
                left.remove(key)
    return left
