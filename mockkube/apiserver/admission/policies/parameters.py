"""Find the parameter objects of a policy by the paramRef of its binding."""

# upstream 1.36: apiserver/pkg/admission/plugin/policy/generic/policy_dispatcher.go, CollectParams
from collections.abc import Sequence

from mockkube.api.selectors.labels import from_label_selector
from mockkube.api.types import ReadOnlyObject
from mockkube.apiserver.registry.resource import RegistryDependencies, Resource
from mockkube.apiserver.registry.watch_cache import CachedObject


class ParametersError(Exception):
    """Error when the parameters of a policy cannot be found; the text has the reason."""


def find_param_resource(kind: ReadOnlyObject, services: RegistryDependencies) -> Resource:
    """Return the resource of a paramKind; raise ParametersError if there is none."""
    api_version, name = kind.get("apiVersion", ""), kind.get("kind", "")
    found = services.find_by_kind(api_version, name)
    if found is None:
        raise ParametersError(f"failed to find resource referenced by paramKind: '{api_version}, Kind={name}'")
    return found


def collect_params(
    resource: Resource | None, reference: ReadOnlyObject | None, namespace: str
) -> Sequence[ReadOnlyObject | None]:
    """Return the parameters to evaluate the policy with; (None,) if it has no parameters."""
    if resource is None or reference is None:
        return (None,)
    there = _param_namespace(resource, reference, namespace)
    found = [resource.to_served_version(record.load()) for record in _find_params(resource, reference, there)]
    # With `Allow` no parameters mean no evaluation, so the policy does not apply.
    if not found and reference.get("parameterNotFoundAction") == "Deny":
        raise ParametersError("no params found for policy binding with `Deny` parameterNotFoundAction")
    return found


def _param_namespace(resource: Resource, reference: ReadOnlyObject, namespace: str) -> str:
    given: str = reference.get("namespace", "")
    if not resource.kind.namespaced:
        if given:
            raise ParametersError("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
        return ""
    if not given and not namespace:
        raise ParametersError("cannot use namespaced paramRef in policy binding that matches cluster-scoped resources")
    return given or namespace


def _find_params(resource: Resource, reference: ReadOnlyObject, namespace: str) -> list[CachedObject]:
    if name := reference.get("name", ""):
        record = resource.get_cached(namespace, name)
        return [] if record is None else [record]
    selector = from_label_selector(reference.get("selector") or {})
    prefix = resource.prefix(namespace)
    return [record for record in resource.collection.range(prefix) if selector.matches(record.labels)]
