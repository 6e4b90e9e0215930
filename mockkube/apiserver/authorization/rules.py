"""Rules of roles, and whether they allow a request."""

# upstream 1.36: plugin/pkg/auth/authorizer/rbac/rbac.go, pkg/apis/rbac/v1/evaluation_helpers.go
from collections.abc import Iterable
from typing import Final

from mockkube.api.fields import quote
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.apiserver.registry.authorizer import AuthorizationAttributes
from mockkube.lazy_dataclasses import dataclass

ALL: Final = "*"


@dataclass(frozen=True, slots=True)
class PolicyRule:
    """Rule of a role (upstream: PolicyRule)."""

    verbs: tuple[str, ...]
    groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()

    @classmethod
    def from_object(cls, rule: ReadOnlyObject) -> "PolicyRule":
        """Read the rule of a role object."""
        names = ("verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs")
        return cls(*(tuple(rule.get(name) or ()) for name in names))

    def to_object(self) -> Object:
        """Return the rule as in a role object."""
        parts = {
            "verbs": self.verbs,
            "apiGroups": self.groups,
            "resources": self.resources,
            "resourceNames": self.names,
            "nonResourceURLs": self.urls,
        }
        return {name: list(values) for name, values in parts.items() if values}

    def allows(self, attributes: AuthorizationAttributes) -> bool:
        """Return whether the rule allows the request."""
        return self.allows_any_name(attributes) and self.allows_name(attributes)

    def allows_name(self, attributes: AuthorizationAttributes) -> bool:
        """Return whether the rule is about the name of the request, too, if it names objects."""
        return not self.names or attributes.path is not None or attributes.name in self.names

    def allows_any_name(self, attributes: AuthorizationAttributes) -> bool:
        """Return whether the rule allows the request for some name."""
        # hot: per request and rule of its user
        if attributes.verb not in self.verbs and ALL not in self.verbs:
            return False
        if attributes.path is not None:
            return any(_matches_url(url, attributes.path) for url in self.urls)
        if attributes.group not in self.groups and ALL not in self.groups:
            return False
        return self._matches_resource(attributes)

    def _matches_resource(self, attributes: AuthorizationAttributes) -> bool:
        resources = self.resources
        if ALL in resources or attributes.combined_resource in resources:
            return True
        return bool(attributes.subresource) and f"*/{attributes.subresource}" in resources

    def __str__(self) -> str:
        """Return the rule as Go prints it in messages."""
        parts = {
            "APIGroups": self.groups,
            "Resources": self.resources,
            "NonResourceURLs": self.urls,
            "ResourceNames": self.names,
            "Verbs": self.verbs,
        }
        return f"{{{', '.join(f'{name}:{format_go_list(values)}' for name, values in parts.items() if values)}}}"


def format_go_list(texts: Iterable[str]) -> str:
    """Return texts as Go prints a list of quoted strings."""
    return f"[{' '.join(map(quote, texts))}]"


def _matches_url(pattern: str, path: str) -> bool:
    if pattern in (ALL, path):
        return True
    return pattern.endswith(ALL) and path.startswith(pattern.rstrip(ALL))
