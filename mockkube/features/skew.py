"""Version skew policy: how far apart the versions of two components may be.

`RULES` is the published policy, `check_skew` applies it to a cluster. With several API servers every component is
compared with each of them, which narrows its range exactly as the policy's examples do.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from mockkube.features.versions import Version
from mockkube.lazy_dataclasses import dataclass

API_SERVER: Final = "kube-apiserver"
KUBELET: Final = "kubelet"
KUBE_PROXY: Final = "kube-proxy"

_TWO_MINORS_UNTIL: Final = Version(1, 25)  # an older kubelet or kube-proxy may lag by two minors only


@dataclass(frozen=True, slots=True)
class SkewRule:
    """Limits for how far one kind of component may be newer or older than another."""

    component: str
    other: str
    newer_max: int
    older_max: int

    def __str__(self) -> str:
        return f"{self.component} to {self.other}"


RULES: Final = (
    SkewRule(API_SERVER, API_SERVER, newer_max=1, older_max=1),
    SkewRule("kube-controller-manager", API_SERVER, newer_max=0, older_max=1),
    SkewRule("kube-scheduler", API_SERVER, newer_max=0, older_max=1),
    SkewRule("cloud-controller-manager", API_SERVER, newer_max=0, older_max=1),
    SkewRule(KUBELET, API_SERVER, newer_max=0, older_max=3),
    SkewRule(KUBE_PROXY, API_SERVER, newer_max=0, older_max=3),
    SkewRule(KUBE_PROXY, KUBELET, newer_max=3, older_max=3),
    SkewRule("kubectl", API_SERVER, newer_max=1, older_max=1),
)


@dataclass(frozen=True, slots=True)
class SkewFinding:
    """Result of a rule for one pair of components; `reason` names both versions and the allowed range."""

    component: str
    other: str
    rule: SkewRule
    supported: bool
    reason: str


def check_skew(versions: Mapping[str, Version]) -> list[SkewFinding]:
    """Check every pair that a rule covers, in the order of RULES, then of names.

    Names are those of components: `kube-apiserver.1` is a replica, `kubelet.n1` the kubelet of a node. Components
    without a rule (etcd, an add-on) are left out.
    """
    return [
        _check_pair(rule, component, other, versions)
        for rule in RULES
        for component in _components_of(rule.component, versions)
        for other in _components_of(rule.other, versions)
        if _is_pair(rule, component, other, versions)
    ]


def find_unsupported(versions: Mapping[str, Version], component: str | None = None) -> list[SkewFinding]:
    """Return the unsupported pairs of all components, or of one."""
    return [
        finding
        for finding in check_skew(versions)
        if not finding.supported and component in (None, finding.component, finding.other)
    ]


def _components_of(kind: str, versions: Mapping[str, Version]) -> Iterator[str]:
    return (name for name in sorted(versions) if _component_kind(name) == kind)


def _component_kind(name: str) -> str:
    return name.partition(".")[0]


def _is_pair(rule: SkewRule, component: str, other: str, versions: Mapping[str, Version]) -> bool:
    """Return whether a rule applies to two components.

    Replicas are paired once; a kube-proxy is paired with the kubelet of its node.
    """
    if rule.component == rule.other:
        # The rule is symmetric for two API servers, so each pair is checked in one direction only.
        return component < other
    if rule.other != KUBELET:
        return True
    node = component.partition(".")[2]
    node_kubelet = f"{KUBELET}.{node}" if f"{KUBELET}.{node}" in versions else KUBELET
    return other == node_kubelet or not node


def _check_pair(rule: SkewRule, component: str, other: str, versions: Mapping[str, Version]) -> SkewFinding:
    mine, theirs = versions[component], versions[other]
    pair = f"{component} {mine}", f"{other} {theirs}"
    older_max = _allowed_older(rule, mine)
    # The policy counts minor versions, which cannot be compared across majors.
    if mine.major != theirs.major:
        return SkewFinding(component, other, rule, False, f"{pair[0]} is of another major version than {pair[1]}")
    ahead = mine.minor - theirs.minor
    if ahead > rule.newer_max:
        limit = (
            f"at most {_format_minors(rule.newer_max)} newer is supported" if rule.newer_max else "it must not be newer"
        )
        return SkewFinding(
            component, other, rule, False, f"{pair[0]} is {_format_minors(ahead)} newer than {pair[1]}: {limit}"
        )
    if -ahead > older_max:
        limit = f"at most {_format_minors(older_max)} older is supported"
        return SkewFinding(
            component, other, rule, False, f"{pair[0]} is {_format_minors(-ahead)} older than {pair[1]}: {limit}"
        )
    return SkewFinding(component, other, rule, True, f"{pair[0]} is supported with {pair[1]}")


def _allowed_older(rule: SkewRule, version: Version) -> int:
    is_old = rule.component in (KUBELET, KUBE_PROXY) and version < _TWO_MINORS_UNTIL
    return min(rule.older_max, 2) if is_old else rule.older_max


def _format_minors(count: int) -> str:
    return "1 minor version" if count == 1 else f"{count} minor versions"
