"""Compare sets of rules: which permissions are not covered by others."""

# upstream 1.36: component-helpers/auth/rbac/validation/policy_comparator.go, pkg/registry/rbac/validation
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from mockkube.apiserver.authorization.rules import ALL, PolicyRule


def find_missing(held: Sequence[PolicyRule], wanted: Iterable[PolicyRule]) -> list[PolicyRule]:
    """Return the parts of the wanted rules that are not covered; parts that differ by verb are joined."""
    return _compact(find_uncovered(held, wanted))


def find_uncovered(held: Sequence[PolicyRule], wanted: Iterable[PolicyRule]) -> list[PolicyRule]:
    """Return the smallest parts of the wanted rules that no held rule covers."""
    parts = (part for rule in wanted for part in _break_down(rule))
    return [part for part in parts if not any(_covers(rule, part) for rule in held)]


def _break_down(rule: PolicyRule) -> Iterator[PolicyRule]:
    """Break a rule down into parts with one verb, one resource and at most one name."""
    for group in rule.groups:
        for resource in rule.resources:
            for verb in rule.verbs:
                unnamed = PolicyRule((verb,), (group,), (resource,))
                yield from (replace(unnamed, names=(name,)) for name in rule.names)
                if not rule.names:
                    yield unnamed
    for url in rule.urls:
        for verb in rule.verbs:
            yield PolicyRule((verb,), urls=(url,))


def _covers(held: PolicyRule, part: PolicyRule) -> bool:
    # A held rule without names covers all names; a part without a name needs a rule without names.
    return (
        (ALL in held.verbs or part.verbs[0] in held.verbs)
        and (ALL in held.groups or set(part.groups) <= set(held.groups))
        and all(_covers_resource(held, resource) for resource in part.resources)
        and all(_covers_url(held, url) for url in part.urls)
        and (not held.names or (bool(part.names) and part.names[0] in held.names))
    )


def _covers_resource(held: PolicyRule, resource: str) -> bool:
    if ALL in held.resources or resource in held.resources:
        return True
    _, slash, subresource = resource.partition("/")
    return bool(slash) and f"*/{subresource}" in held.resources


def _covers_url(held: PolicyRule, url: str) -> bool:
    return any(url == own or (own.endswith(ALL) and url.startswith(own.rstrip(ALL))) for own in held.urls)


def _compact(parts: Iterable[PolicyRule]) -> list[PolicyRule]:
    verbs: dict[PolicyRule, list[str]] = {}
    compacted: list[PolicyRule] = []
    for part in parts:
        if part.urls:
            compacted.append(part)
        else:
            verbs.setdefault(PolicyRule((), part.groups, part.resources, part.names), []).extend(part.verbs)
    return compacted + [
        PolicyRule(tuple(some), rule.groups, rule.resources, rule.names) for rule, some in verbs.items()
    ]
