"""Match requests with the rules and selectors of policies, bindings and webhooks."""

# upstream 1.36: apiserver/pkg/admission/plugin/policy/matching, webhook/predicates
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from mockkube.api.errors import NotFound
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.selectors.labels import from_label_selector
from mockkube.apiserver.registry.admission import AdmissionAttributes, Operation
from mockkube.apiserver.registry.cached_object import CachedObject, read_labels
from mockkube.apiserver.registry.resource import Resource
from mockkube.lazy_dataclasses import dataclass

GROUP: Final = "admissionregistration.k8s.io"
_ALL: Final = "*"


@dataclass(frozen=True, slots=True)
class RequestMatcher:
    """Request to match with rules and selectors."""

    request: AdmissionAttributes

    @property
    def is_exempt(self) -> bool:
        """True if it changes admission configuration itself."""
        # A policy or webhook that rejects everything must not make itself undeletable.
        return self.request.resource.group == GROUP

    @property
    def is_namespace(self) -> bool:
        """True if the object is a namespace."""
        return self.request.is_for_resource("", "namespaces")

    @property
    def name(self) -> str:
        """Name of the object; empty if it is still to be generated."""
        request = self.request
        if request.scope.name or request.obj is None:
            return request.scope.name
        name: str = request.obj["metadata"].get("name", "")
        return name

    @property
    def namespace(self) -> str:
        """Namespace of the request; for a namespace its own name."""
        return self.name if self.is_namespace else self.request.scope.namespace

    def namespace_labels(self) -> ReadOnlyObject:
        """Return the labels of the namespace; raise NotFound if it does not exist."""
        request = self.request
        is_write = request.operation in (Operation.CREATE, Operation.UPDATE)
        # A namespace that is being written is matched by its new labels.
        if self.is_namespace and is_write and not request.scope.subresource:
            return read_labels(request.new)
        labels = request.resource.dependencies.get_namespace_labels(self.namespace)
        if labels is None:
            raise NotFound.for_object("", "namespaces", self.namespace)
        return labels

    def namespace_object(self) -> ReadOnlyObject | None:
        """Return the namespace of the request; None for cluster-scoped objects and namespaces."""
        if not self.request.scope.namespace or self.is_namespace:
            return None
        cached = self.request.find_resource("", "namespaces").get_cached("", self.request.scope.namespace)
        return None if cached is None else cached.load()

    def matches_selectors(self, criteria: ReadOnlyObject) -> bool:
        """Return whether the namespace selector and the object selector match."""
        namespaces = from_label_selector(criteria.get("namespaceSelector") or {})
        if (
            not namespaces.is_empty
            and (self.namespace or self.is_namespace)
            and not namespaces.matches(self.namespace_labels())
        ):
            return False
        objects = from_label_selector(criteria.get("objectSelector") or {})
        # The options of a connection have no labels, which upstream takes for no match.
        if self.request.operation is Operation.CONNECT:
            return objects.is_empty
        sides = (self.request.obj, self.request.old)
        # Old or new object may match, so that an update cannot escape by changing labels.
        return objects.is_empty or any(objects.matches(read_labels(obj)) for obj in sides if obj is not None)

    def find_resource(self, rules: Sequence[ReadOnlyObject], policy: str | None) -> Resource | None:
        """Return the version of the resource that the rules match, if any.

        It is the request's own version, or with the policy `Equivalent` another one.
        """
        request = self.request
        if any(self._matches_rule(rule, request.resource) for rule in rules):
            return request.resource
        if policy != "Equivalent":
            return None
        others = [
            one
            for one in request.resource.dependencies.find_equivalents(request.resource)
            if one is not request.resource
        ]
        found = (one for rule in rules for one in others if self._matches_rule(rule, one))
        return next(found, None)

    def _matches_rule(self, rule: ReadOnlyObject, resource: Resource) -> bool:
        if not self._matches_scope(rule.get("scope")):
            return False
        named = (
            ("operations", self.request.operation.value),
            ("apiGroups", resource.group),
            ("apiVersions", resource.version),
        )
        if not all(_ALL in rule.get(field, ()) or value in rule.get(field, ()) for field, value in named):
            return False
        if not any(self._matches_resource(pair, resource) for pair in _rule_resources(rule)):
            return False
        names = rule.get("resourceNames")
        return not names or self.name in names

    def _matches_scope(self, scope: str | None) -> bool:
        namespaced = bool(self.namespace) and not self.is_namespace
        return scope in (None, _ALL) or (scope == "Namespaced") == namespaced

    def _matches_resource(self, pair: tuple[str, str], resource: Resource) -> bool:
        return pair[0] in (_ALL, resource.plural) and pair[1] in (_ALL, self.request.scope.subresource)


def _rule_resources(rule: ReadOnlyObject) -> Iterator[tuple[str, str]]:
    """Yield the resources of a rule with their subresources."""
    for text in rule.get("resources") or ():
        resource, _, subresource = text.partition("/")
        yield resource, subresource


def list_configuration(request: AdmissionAttributes, plural: str) -> Sequence[CachedObject]:
    """Return the configuration objects of a kind, by name."""
    resource = request.resource.dependencies.find_storage_resource(GROUP, plural)
    if resource is None or not resource.collection.objects:  # hot: several times per write
        return ()
    return resource.collection.well_formed(resource.prefix(""), "admission policies")


def find_matching_resource(request: AdmissionAttributes, criteria: ReadOnlyObject) -> Resource | None:
    """Return the version of the resource that match criteria select; None if they do not match."""
    subject = RequestMatcher(request)
    policy = criteria.get("matchPolicy")
    if subject.find_resource(criteria.get("excludeResourceRules") or (), policy) is not None:
        return None
    rules = criteria.get("resourceRules") or ()
    resource = subject.find_resource(rules, policy) if rules else request.resource
    # Selectors come last: a missing namespace is only an error if the rules match.
    return resource if resource is not None and subject.matches_selectors(criteria) else None


def read_policy_criteria(policy: ReadOnlyObject) -> Sequence[ReadOnlyObject]:
    """Return the match criteria of a policy."""
    return ((policy.get("spec") or {}).get("matchConstraints") or {},)


class ConfiguredRules:
    """Rules in all configuration objects of a kind, by which to find out whether one may select a heartbeat."""

    def __init__(self, plural: str, read_criteria: Callable[[ReadOnlyObject], Iterable[ReadOnlyObject]]) -> None:
        """Read the match criteria of a configuration object with a function."""
        self._plural, self._read_criteria = plural, read_criteria
        self._objects: Sequence[CachedObject] = ()
        self._criteria: Sequence[ReadOnlyObject] = ()
        # By resource, subresource, and whether there is a namespace.
        self._answers: dict[tuple[Resource, str, bool], bool] = {}

    def may_match(self, request: AdmissionAttributes) -> bool:  # hot: per heartbeat
        """Return whether the rules of an object select a request, whatever its name, its labels and its content are."""
        objects = list_configuration(request, self._plural)
        if not objects:
            return False
        # The same list is returned until an object changes.
        if objects is not self._objects:
            self._objects, self._answers = objects, {}
            self._criteria = [criteria for one in objects for criteria in self._read_criteria(one.load())]
        about = request.resource, request.scope.subresource, bool(request.scope.namespace)
        answer = self._answers.get(about)
        if answer is None:
            subject = RequestMatcher(request)
            answer = self._answers[about] = any(_may_select(subject, criteria) for criteria in self._criteria)
        return answer


def _may_select(subject: RequestMatcher, criteria: ReadOnlyObject) -> bool:
    rules = [{**rule, "resourceNames": ()} for rule in criteria.get("resourceRules") or ()]
    return not rules or subject.find_resource(rules, criteria.get("matchPolicy")) is not None
