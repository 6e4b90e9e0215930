"""clusterrole-aggregation-controller: fills ClusterRoles that aggregate the rules of others.

upstream 1.36: pkg/controller/clusterroleaggregation/clusterroleaggregation_controller.go
"""

from collections.abc import Iterator
from typing import ClassVar, Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.patching.patch_type import PatchType
from mockkube.api.selectors import labels
from mockkube.client.informer import ObjectChange
from mockkube.client.protocol import Key, key_of
from mockkube.controllers.framework.controller import DONE, Controller, ControllerDependencies, ReconcileResult

_ROLE: Final = "ClusterRole"


class ClusterRoleAggregationController(Controller):
    """Controller of ClusterRoles with an aggregation rule; a change of any role queues all of them."""

    name: ClassVar[str] = "clusterrole-aggregation-controller"
    queue_name: ClassVar[str] = "ClusterRoleAggregator"

    def __init__(self, dependencies: ControllerDependencies) -> None:
        super().__init__(dependencies)
        self.roles = self.watched_informer(_ROLE, self._on_role_change)

    def _on_role_change(self, change: ObjectChange) -> None:
        for role in self.roles.list():
            if role.get("aggregationRule"):
                self.work_queue.add(key_of(role))

    async def reconcile(self, key: Key) -> ReconcileResult:
        """Write the rules of the selected roles into the role."""
        role = self.roles.get(key)
        if role is None or not role.get("aggregationRule"):
            return DONE
        rules: list[ReadOnlyObject] = []
        for part in self._selected_roles(role):
            for rule in part.get("rules") or ():
                # Duplicates are left out, as upstream, also those within one role; the order of roles and rules
                # decides the order of the result.
                if rule not in rules:
                    rules.append(rule)
        if rules != list(role.get("rules") or ()):
            await self.client.patch(_ROLE, key, {"rules": rules}, patch_type=PatchType.MERGE)
        return DONE

    def _selected_roles(self, role: ReadOnlyObject) -> Iterator[ReadOnlyObject]:
        """Yield the roles to aggregate: selector by selector, each in the order of names."""
        roles = sorted(self.roles.list(), key=lambda one: one["metadata"]["name"])
        for selector in role["aggregationRule"].get("clusterRoleSelectors") or ():
            compiled = labels.from_label_selector(selector)
            for one in roles:
                # A role that matched its own selector would add its old rules to the new ones for ever.
                if one is not role and compiled.matches(one["metadata"].get("labels", {})):
                    yield one
