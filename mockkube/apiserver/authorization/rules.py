"""Rules of roles, and whether they allow a request."""

# upstream 1.36: plugin/pkg/auth/authorizer/rbac/rbac.go, pkg/apis/rbac/v1/evaluation_helpers.go
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from mockkube.api.fields import quote
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.apiserver.registry.authorizer import Attributes

ALL: Final = "*"


@dataclass(frozen=True, slots=True)
class Rule:
    """Rule of a role (upstream: PolicyRule)."""

    verbs: tuple[str, ...]
    groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()

    @classmethod
    def read(cls, rule: ReadOnlyObject) -> "Rule":
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

    def allows(self, asked: Attributes) -> bool:
        """Return whether the rule allows the request."""
        # hot: per request and rule of its user
        if asked.verb not in self.verbs and ALL not in self.verbs:
            return False
        if asked.path is not None:
            return any(_url_matches(url, asked.path) for url in self.urls)
        if asked.group not in self.groups and ALL not in self.groups:
            return False
        if self.names and asked.name not in self.names:
            return False
        return self._names_resource(asked)

    def _names_resource(self, asked: Attributes) -> bool:
        resources = self.resources
        if ALL in resources or asked.combined in resources:
            return True
        return bool(asked.subresource) and f"*/{asked.subresource}" in resources

    def __str__(self) -> str:
        """Return the rule as Go prints it in messages."""
        parts = {
            "APIGroups": self.groups,
            "Resources": self.resources,
            "NonResourceURLs": self.urls,
            "ResourceNames": self.names,
            "Verbs": self.verbs,
        }
        return f"{{{', '.join(f'{name}:{go_list(values)}' for name, values in parts.items() if values)}}}"


def go_list(texts: Iterable[str]) -> str:
    """Return texts as Go prints a list of quoted strings."""
    return f"[{' '.join(map(quote, texts))}]"


def _url_matches(pattern: str, path: str) -> bool:
    if pattern in (ALL, path):
        return True
    return pattern.endswith(ALL) and path.startswith(pattern.rstrip(ALL))
