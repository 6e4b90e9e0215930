"""Step `customController`: start a controller of a custom resource, as users install them."""

from typing import Annotated, ClassVar, Final

from mockkube.api.errors import AlreadyExists, ApiError
from mockkube.api.json_objects import Object
from mockkube.controllers.custom.custom_kind import CustomKind
from mockkube.lazy_dataclasses import dataclass
from mockkube.scenario.errors import StepFailed
from mockkube.scenario.responses import format_error
from mockkube.scenario.step import ScenarioStep
from mockkube.scenario.world import World

_CRD: Final = "CustomResourceDefinition"
# As many CRDs define it: the template is not validated before it is that of a pod.
_ANYTHING: Final[Object] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_SPEC: Final[Object] = {
    "type": "object",
    "properties": {"replicas": {"type": "integer", "minimum": 0}, "template": _ANYTHING},
}


@dataclass(frozen=True)
class CustomControllerStep(ScenarioStep):
    """Define a custom resource, and start a controller that keeps `spec.replicas` pods of `spec.template` for each."""

    verb: ClassVar[str] = "customController"

    kind: Annotated[str, "kind of the custom resource, like Training"]
    group: Annotated[str, "its group"] = "example.com"
    version: Annotated[str, "its version"] = "v1"
    plural: Annotated[str, "its resource name; the kind in small letters with an s by default"] = ""
    name: Annotated[str, "what to call the controller; KIND-controller by default"] = ""

    async def play(self, world: World) -> None:
        """Create the CustomResourceDefinition unless it exists, and start the controller."""
        client = world.client()
        try:
            await client.create(f"{_CRD}.apiextensions.k8s.io", self._make_definition())
        except AlreadyExists:
            pass
        except ApiError as error:
            raise StepFailed(format_error(error)) from None
        name = self.name or f"{self.kind.lower()}-controller"
        await world.start_custom_controller(name, CustomKind(self.group, self.version, self.kind))

    def _make_definition(self) -> Object:
        plural = self.plural or f"{self.kind.lower()}s"
        schema = {"type": "object", "properties": {"spec": _SPEC, "status": _ANYTHING}}
        version = {"name": self.version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
        return {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": _CRD,
            "metadata": {"name": f"{plural}.{self.group}"},
            "spec": {
                "group": self.group,
                "scope": "Namespaced",
                "names": {"kind": self.kind, "plural": plural, "singular": self.kind.lower()},
                "versions": [{**version, "subresources": {"status": {}}}],
            },
        }
