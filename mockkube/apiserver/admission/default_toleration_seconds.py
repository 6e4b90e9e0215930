"""DefaultTolerationSeconds: let pods tolerate not-ready and unreachable nodes for five minutes."""

from typing import Final

from mockkube.api.types import Object, ReadOnlyObject
from mockkube.apiserver.registry.admission import Plugin, Request

NOT_READY: Final = "node.kubernetes.io/not-ready"
UNREACHABLE: Final = "node.kubernetes.io/unreachable"
SECONDS: Final = 300


class DefaultTolerationSeconds(Plugin):
    """Adds tolerations for the not-ready and unreachable taints, unless the pod has its own."""

    # upstream 1.36: plugin/pkg/admission/defaulttolerationseconds/admission.go
    name = "DefaultTolerationSeconds"

    def __init__(self, *, not_ready_seconds: int = SECONDS, unreachable_seconds: int = SECONDS) -> None:
        self.seconds = {NOT_READY: not_ready_seconds, UNREACHABLE: unreachable_seconds}

    def admit(self, request: Request) -> None:
        """Complete the tolerations of a pod, also in updates."""
        if not request.about("", "pods"):
            return
        spec = request.given["spec"]
        tolerations = spec.get("tolerations") or []
        missing = [key for key in self.seconds if not any(_covers(one, key) for one in tolerations)]
        if missing:
            spec["tolerations"] = [*tolerations, *(self._toleration(key) for key in missing)]

    def _toleration(self, key: str) -> Object:
        seconds = self.seconds[key]
        return {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds}


def _covers(toleration: ReadOnlyObject, key: str) -> bool:
    return toleration.get("key", "") in ("", key) and toleration.get("effect", "") in ("", "NoExecute")
