"""Interface of authorizers: the attributes of a request, and the decision."""

# upstream 1.36: plugin/pkg/auth/authorizer/rbac/rbac.go, pkg/apis/rbac/v1/evaluation_helpers.go
from dataclasses import dataclass

from mockkube.api.selectors.fields import Requirement
from mockkube.apiserver.identity.user import User


@dataclass(frozen=True, slots=True)
class Attributes:
    """What somebody asks to do, to a resource or, when there is a path, to that."""

    user: User
    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str | None = None
    fields: tuple[Requirement, ...] = ()
    """What a field selector limits a list, a watch or a deletion to."""

    @property
    def combined(self) -> str:
        """The resource as rules name it: `pods/log`."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether something is allowed, and why or why not, as far as there is something to say."""

    allowed: bool
    reason: str = ""
