"""Rights of a session's user to the rows of the page: those to list the objects that they show."""

from collections.abc import Callable

from mockkube.apiserver.authorization.authorizer import Authorizer
from mockkube.apiserver.identity.user import User
from mockkube.apiserver.registry.authorizer import AuthorizationAttributes
from mockkube.ui.cluster_history import RowKey

CONTROL_GROUP = "control.mockkube.dev"
# API group of each resource of the page.
GROUPS = {"nodes": "", "pods": "", "components": CONTROL_GROUP}


class RowAccess:
    """Decisions about one user, remembered while a stream lasts, as those about a watch are."""

    def __init__(self, user: User, get_authorizer: Callable[[], Authorizer]) -> None:
        self._user = user
        self._get_authorizer = get_authorizer
        self._decisions: dict[tuple[str, str], bool] = {}

    def allows(self, key: RowKey) -> bool:
        """Return whether the user may list the objects of this resource, everywhere or in its namespace."""
        return self._may_list(key.resource, "") or (key.namespace != "" and self._may_list(key.resource, key.namespace))

    def find_unrestricted(self) -> frozenset[str]:
        """Return the resources that the user may list everywhere."""
        return frozenset(resource for resource in GROUPS if self._may_list(resource, ""))

    def _may_list(self, resource: str, namespace: str) -> bool:
        known = self._decisions.get((resource, namespace))
        if known is None:
            known = self._decisions[resource, namespace] = self.may(resource, "list", namespace)
        return known

    def may(self, resource: str, verb: str, namespace: str = "", name: str = "") -> bool:
        """Return whether the user may use a verb."""
        attributes = AuthorizationAttributes(
            self._user, verb, group=GROUPS[resource], resource=resource, namespace=namespace, name=name
        )
        return self._get_authorizer().authorize(attributes).allowed
