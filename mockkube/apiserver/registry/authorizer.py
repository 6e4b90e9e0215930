"""Interface of authorizers: attributes of a request, and the decision."""

# upstream 1.36: plugin/pkg/auth/authorizer/rbac/rbac.go, pkg/apis/rbac/v1/evaluation_helpers.go

from typing import NamedTuple

from mockkube.api.selectors.fields import FieldRequirement
from mockkube.apiserver.identity.user import User
from mockkube.lazy_dataclasses import dataclass


# Named tuples are made in a third of the time of frozen dataclasses: each request makes one of these.
class AuthorizationAttributes(NamedTuple):
    """Attributes of a request to authorize; with `path` it is a request to a non-resource URL."""

    user: User
    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str | None = None
    # Requirements of the field selector that limits a list, watch or deletion of a collection.
    field_requirements: tuple[FieldRequirement, ...] = ()

    @property
    def combined_resource(self) -> str:
        """Resource and subresource as rules name them: `pods/log`."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


@dataclass(frozen=True, slots=True)
class Decision:
    """Decision about a request: allowed or not, and the reason if there is one."""

    allowed: bool
    reason: str = ""
