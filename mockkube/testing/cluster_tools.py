"""Tools of a running cluster that the methods of `MockKube` use; its own methods run in the cluster's event loop."""

from datetime import timedelta
from typing import Final

from mockkube.api.json_objects import Object
from mockkube.cluster.control_plane import ControlPlane
from mockkube.testing.clock import Duration, KubeClock, parse_duration
from mockkube.testing.cluster_loop import ClusterLoop
from mockkube.testing.expectation import Predicate, parse_expectation
from mockkube.testing.faults import KubeFaults
from mockkube.testing.manifests import Manifest, read_manifests
from mockkube.testing.objects import ClusterObjects
from mockkube.testing.spy import Spy
from mockkube.testing.waiting import ObjectWaiter, WaitTarget

_DEFINITION: Final = "CustomResourceDefinition"
_ESTABLISHED_MAX: Final = timedelta(seconds=10)


class ClusterTools:
    """Loop, objects, clock, faults and recorded requests of one cluster."""

    def __init__(self, control_plane: ControlPlane, loop: ClusterLoop) -> None:
        self.loop = loop
        self.clock = KubeClock(control_plane, loop)
        self.spy = Spy(control_plane.control_api.registry.dependencies.protobuf)
        self._objects = ClusterObjects(control_plane)
        self.faults = KubeFaults(control_plane, self._objects, loop)
        self._waiter = ObjectWaiter(control_plane, self._objects, self.clock, self.spy)
        control_plane.faults.on_request = self.spy.record

    async def apply(self, manifest: Manifest, namespace: str) -> list[Object]:
        """Apply the objects of a manifest; return what is stored."""
        applied: list[Object] = []
        for obj in read_manifests(manifest):
            written = await self._objects.write(obj, namespace)
            if written["kind"] == _DEFINITION:
                target = WaitTarget(f"{_DEFINITION}.apiextensions.k8s.io", written["metadata"]["name"], "", "")
                established = parse_expectation("condition=Established")
                (written,) = await self._waiter.wait(target, established, _ESTABLISHED_MAX)
            applied.append(written)
        return applied

    async def wait(
        self, target: str, until: str | Predicate, namespace: str, selector: str, limit: Duration
    ) -> list[Object]:
        """Wait until objects have a state; return them."""
        found = WaitTarget.parse(target, namespace, selector)
        return await self._waiter.wait(found, parse_expectation(until), parse_duration(limit))
