"""Audit policy: which requests are logged, at which level, and at which stages."""

# upstream 1.36: apiserver/pkg/audit/policy/checker.go, apis/audit/validation/validation.go
from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum
from typing import Any, Final

from mockkube.api.decoding import documents
from mockkube.api.fields import FieldError, invalid, not_supported, required
from mockkube.api.names import check_dns_subdomain
from mockkube.apiserver.registry.authorizer import AuthorizationAttributes
from mockkube.lazy_dataclasses import dataclass

API_VERSION: Final = "audit.k8s.io/v1"
REQUEST_RECEIVED: Final = "RequestReceived"
RESPONSE_STARTED: Final = "ResponseStarted"
RESPONSE_COMPLETE: Final = "ResponseComplete"
PANIC: Final = "Panic"
_STAGES: Final = (REQUEST_RECEIVED, RESPONSE_STARTED, RESPONSE_COMPLETE, PANIC)


class Level(IntEnum):
    """Audit level: the part of a request that is logged; each level includes the ones before it."""

    NONE = 0
    METADATA = 1
    REQUEST = 2
    REQUEST_RESPONSE = 3


_LEVELS: Final = {
    "None": Level.NONE,
    "Metadata": Level.METADATA,
    "Request": Level.REQUEST,
    "RequestResponse": Level.REQUEST_RESPONSE,
}
LEVEL_NAMES: Final = {level: name for name, level in _LEVELS.items()}


class PolicyError(ValueError):
    """Audit policy that cannot be used."""


@dataclass(frozen=True, slots=True)
class AuditConfig:
    """Configuration of the events of one request."""

    level: Level
    omit_stages: frozenset[str] = frozenset()
    omit_managed_fields: bool = False


@dataclass(frozen=True, slots=True)
class _Rule:
    config: AuditConfig
    fields: Mapping[str, Any]

    def matches(self, attributes: AuthorizationAttributes) -> bool:
        """Return whether the rule applies to a request."""
        fields, user = self.fields, attributes.user
        if (users := fields.get("users")) and user.name not in users:
            return False
        if (groups := fields.get("userGroups")) and not set(groups) & set(user.groups):
            return False
        if (verbs := fields.get("verbs")) and attributes.verb not in verbs:
            return False
        if fields.get("namespaces") or fields.get("resources"):
            return attributes.path is None and self._matches_resource(attributes)
        if urls := fields.get("nonResourceURLs"):
            return attributes.path is not None and any(_matches_path(attributes.path, url) for url in urls)
        return True

    def _matches_resource(self, attributes: AuthorizationAttributes) -> bool:
        namespaces, resources = self.fields.get("namespaces"), self.fields.get("resources")
        if namespaces and attributes.namespace not in namespaces:
            return False
        if not resources:
            return True
        for one in resources:
            if one.get("group", "") not in (attributes.group, "*"):
                continue
            if not one.get("resources"):
                return True
            names = one.get("resourceNames")
            if names and attributes.name not in names:
                continue
            if any(_matches_resource_name(attributes, name) for name in one["resources"]):
                return True
        return False


class AuditPolicy:
    """Rules in their order; the first that matches decides, and without one nothing is logged."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        """Take a valid document."""
        omit_stages = frozenset(document.get("omitStages") or ())
        omit_managed_fields = bool(document.get("omitManagedFields"))
        self._rules = []
        for rule in document["rules"]:
            own = rule.get("omitManagedFields")
            config = AuditConfig(
                _LEVELS[rule["level"]],
                omit_stages | frozenset(rule.get("omitStages") or ()),
                omit_managed_fields if own is None else own,
            )
            self._rules.append(_Rule(config, rule))
        self._default = AuditConfig(Level.NONE, omit_stages, omit_managed_fields)

    def evaluate(self, attributes: AuthorizationAttributes) -> AuditConfig:
        """Return what is logged of a request."""
        return next((rule.config for rule in self._rules if rule.matches(attributes)), self._default)


def parse_policy(text: bytes) -> AuditPolicy:
    """Parse a policy file; raise PolicyError with upstream's text."""
    try:
        document = documents.parse_yaml(text).value
    except documents.InvalidDocument as error:
        raise PolicyError(f"failed decoding: {error}") from error
    if not isinstance(document, dict) or document.get("apiVersion") != API_VERSION or document.get("kind") != "Policy":
        named = document if isinstance(document, dict) else {}
        raise PolicyError(
            f"failed decoding: no kind {_quote(named.get('kind'))} is registered for version "
            f"{_quote(named.get('apiVersion'))}: expected kind Policy of {API_VERSION}"
        )
    rules = document.get("rules") or []
    if errors := [*_validate_stages(document.get("omitStages") or (), "omitStages"), *_validate_rules(rules)]:
        raise PolicyError("; ".join(str(error) for error in errors))
    if not rules:
        raise PolicyError("loaded illegal policy with 0 rules")
    return AuditPolicy({**document, "rules": rules})


def _quote(value: object) -> str:
    return f'"{value or ""}"'


def _validate_rules(rules: Sequence[Mapping[str, Any]]) -> Iterator[FieldError]:
    for index, rule in enumerate(rules):
        at = f"rules[{index}]"
        level = rule.get("level", "")
        if not level:
            yield required(f"{at}.level", "")
        elif level not in _LEVELS:
            yield not_supported(f"{at}.level", level, [*_LEVELS])
        urls = rule.get("nonResourceURLs") or ()
        yield from _validate_urls(urls, f"{at}.nonResourceURLs")
        yield from _validate_resources(rule.get("resources") or (), f"{at}.resources")
        yield from _validate_stages(rule.get("omitStages") or (), f"{at}.omitStages")
        if urls and (rule.get("resources") or rule.get("namespaces")):
            detail = "rules cannot apply to both regular resources and non-resource URLs"
            yield invalid(f"{at}.nonResourceURLs", urls, detail)


def _validate_urls(urls: Sequence[str], at: str) -> Iterator[FieldError]:
    for index, url in enumerate(urls):
        if url == "*":
            continue
        if not url.startswith("/"):
            yield invalid(f"{at}[{index}]", url, "non-resource URL rules must begin with a '/' character")
        if "*" in url[:-1]:
            yield invalid(
                f"{at}[{index}]", url, "non-resource URL wildcards '*' must be the final character of the rule"
            )


def _validate_resources(resources: Sequence[Mapping[str, Any]], at: str) -> Iterator[FieldError]:
    for one in resources:
        group = one.get("group", "")
        if group not in ("", "*") and (errors := check_dns_subdomain(group)):
            yield invalid(f"{at}.group", group, ",".join(errors))
        if one.get("resourceNames") and not one.get("resources"):
            yield invalid(
                f"{at}.resourceNames", one["resourceNames"], "using resourceNames requires at least one resource"
            )


def _validate_stages(stages: Sequence[str], at: str) -> Iterator[FieldError]:
    for index, stage in enumerate(stages):
        if stage not in _STAGES:
            yield invalid(f"{at}[{index}]", stage, f"allowed stages are {','.join(_STAGES)}")


def _matches_path(path: str, pattern: str) -> bool:
    return pattern in ("*", path) or (pattern.endswith("*") and path.startswith(pattern.rstrip("*")))


def _matches_resource_name(attributes: AuthorizationAttributes, pattern: str) -> bool:
    if pattern in ("*", attributes.combined_resource):
        return True
    if attributes.subresource and pattern == f"*/{attributes.subresource}":
        return True
    return pattern.endswith("/*") and attributes.resource == pattern.removesuffix("/*")
