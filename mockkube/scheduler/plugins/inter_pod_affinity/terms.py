"""Inter-pod affinity terms, compiled: selector, namespaces, topology key.

upstream 1.36: staging/src/k8s.io/kube-scheduler/framework/types.go
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

import orjson

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.kinds.core.pod.affinity import PREFERRED, REQUIRED
from mockkube.api.selectors.labels import EVERYTHING, NOTHING, LabelSelector, from_label_selector
from mockkube.client.informer import InformerFactory
from mockkube.client.protocol import Key
from mockkube.features.versions import Version
from mockkube.lazy_dataclasses import dataclass
from mockkube.scheduler.framework.node_info import NodeInfo
from mockkube.scheduler.framework.pod_info import PodInfo

Labels = Mapping[str, str]
NO_LABELS: Final[Labels] = {}
# Compiled affinities in the cache: pods of one owner share one.
CACHED_AFFINITIES_MAX: Final = 1024
# Before this version a namespace selector that matches an empty label set selects every namespace.
_LISTED_NAMESPACES_ONLY_SINCE: Final = Version(1, 37)


class Term:
    """Affinity term; equal terms match the same pods within the same domains."""

    __slots__ = ("_hash", "key", "namespace_selector", "namespaces", "selector", "source", "topology_key")

    def __init__(
        self,
        source: ReadOnlyObject,
        namespaces: frozenset[str],
        selector: LabelSelector,
        namespace_selector: LabelSelector,
    ) -> None:
        self.source = source
        self.topology_key: str = source["topologyKey"]
        self.namespaces, self.selector, self.namespace_selector = namespaces, selector, namespace_selector
        # Whether a selector is empty is part of the key, because everything and nothing have the same text.
        text = f"{selector.is_empty:d}{selector}/{namespace_selector.is_empty:d}{namespace_selector}"
        self.key = (self.topology_key, text, namespaces)
        self._hash = hash(self.key)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Term) and self.key == other.key)

    def __hash__(self) -> int:
        return self._hash

    def matches(self, namespace: str, labels: Labels, namespace_labels: Labels = NO_LABELS) -> bool:
        """Return whether the term matches a pod, by namespace, labels, and labels of the namespace."""
        if namespace not in self.namespaces and not self.namespace_selector.matches(namespace_labels):
            return False
        return self.selector.matches(labels)

    def count_pods_on(self, node: NodeInfo) -> int:
        """Return the number of pods on a node that the term matches."""
        return node.derive(self, self._count) if node.pods else 0

    def _count(self, node: NodeInfo) -> int:
        return sum(self.matches(pod.namespace, pod.labels) for pod in node.pods.values())


class WeightedTerm(NamedTuple):
    """Term with the weight that it adds to a node's score."""

    term: Term
    weight: int


@dataclass(frozen=True, slots=True, eq=False)
class PodTerms:
    """Affinity terms of a pod; pods with equal affinity usually share them."""

    affinity: tuple[Term, ...]
    anti_affinity: tuple[Term, ...]
    preferred: tuple[WeightedTerm, ...]
    """Terms of preferred anti-affinity have negative weights."""


NO_TERMS: Final = PodTerms((), (), ())


def terms_of(pod: PodInfo) -> PodTerms:
    """Return the terms of a pod, compiled once; raise BadSelector."""
    return pod.derive(PodTerms, _compile_terms)


def matches_all(terms: Sequence[Term], namespace: str, labels: Labels) -> bool:
    """Return whether all terms match a pod; without terms there is no match."""
    return bool(terms) and all(term.matches(namespace, labels) for term in terms)


def matches_any(terms: Sequence[Term], namespace: str, labels: Labels) -> bool:
    """Return whether some term matches a pod."""
    return any(term.matches(namespace, labels) for term in terms)


def _compile_terms(pod: PodInfo) -> PodTerms:
    affinity = pod.spec.get("affinity") or {}
    if not affinity.get("podAffinity") and not affinity.get("podAntiAffinity"):
        return NO_TERMS
    return _compile_affinity(orjson.dumps(affinity), pod.namespace)


@lru_cache(CACHED_AFFINITIES_MAX)
def _compile_affinity(text: bytes, namespace: str) -> PodTerms:
    affinity = orjson.loads(text)
    near, far = affinity.get("podAffinity") or {}, affinity.get("podAntiAffinity") or {}
    return PodTerms(
        tuple(_compile_term(one, namespace) for one in near.get(REQUIRED) or ()),
        tuple(_compile_term(one, namespace) for one in far.get(REQUIRED) or ()),
        (*_compile_weighted(near, namespace, 1), *_compile_weighted(far, namespace, -1)),
    )


def _compile_weighted(affinity: ReadOnlyObject, namespace: str, sign: int) -> Iterable[WeightedTerm]:
    for one in affinity.get(PREFERRED) or ():
        yield WeightedTerm(_compile_term(one["podAffinityTerm"], namespace), sign * one["weight"])


def _compile_term(term: ReadOnlyObject, namespace: str) -> Term:
    named, selector = term.get("namespaces") or (), term.get("namespaceSelector")
    # API: without namespaces and selector, a term is about the pod's own namespace.
    namespaces = frozenset(named if named or selector is not None else (namespace,))
    return Term(term, namespaces, from_label_selector(term.get("labelSelector")), from_label_selector(selector))


class NamespaceResolver:
    """Namespaces of the cluster, for terms with a namespace selector."""

    def __init__(self, informers: InformerFactory, version: Version) -> None:
        self._informer = informers.informer_for("Namespace")
        self._listed_only = version >= _LISTED_NAMESPACES_ONLY_SINCE

    def labels_of(self, namespace: str) -> Labels:
        """Return the labels of a namespace; none if it is unknown."""
        namespace_object: Any = self._informer.get(Key("", namespace))
        return NO_LABELS if namespace_object is None else namespace_object["metadata"].get("labels") or NO_LABELS

    def resolve(self, terms: Iterable[Term]) -> tuple[Term, ...]:
        """Return the terms with their namespace selectors replaced by the namespaces that they select."""
        return tuple(self._resolve(term) for term in terms)

    def _resolve(self, term: Term) -> Term:
        selector = term.namespace_selector
        # Nothing selects no namespace, and an empty selector all: neither needs a list.
        if selector is NOTHING or selector.is_empty:
            return term
        selected = (
            namespace["metadata"]["name"]
            for namespace in self._informer.list()
            if selector.matches(namespace["metadata"].get("labels") or NO_LABELS)
        )
        everywhere = not self._listed_only and selector.matches(NO_LABELS)
        left = EVERYTHING if everywhere else NOTHING
        return Term(term.source, term.namespaces.union(selected), term.selector, left)
