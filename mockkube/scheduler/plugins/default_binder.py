"""DefaultBinder plugin: create the Binding of a pod.

upstream 1.36: pkg/scheduler/framework/plugins/defaultbinder/default_binder.go
"""

from mockkube.api.errors import ApiError
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.scheduler.framework.interface import BindPlugin, CycleState, PluginDependencies
from mockkube.scheduler.framework.pod_info import PodInfo
from mockkube.scheduler.framework.status import SUCCESS, Status


class DefaultBinder(BindPlugin):
    """Creates Bindings."""

    name = "DefaultBinder"

    def __init__(self, dependencies: PluginDependencies, args: ReadOnlyObject) -> None:
        self._client = dependencies.client

    async def bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status:
        """Bind the pod to the node."""
        # With the uid, the API server rejects the binding if another pod has taken the name.
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"namespace": pod.namespace, "name": pod.name, "uid": pod.uid},
            "target": {"kind": "Node", "name": node_name},
        }
        try:
            await self._client.create("Pod", binding, subresource="binding", name=pod.name)
        except ApiError as error:
            return Status.error(str(error))
        return SUCCESS
