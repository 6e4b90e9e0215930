"""Health endpoints `/livez`, `/readyz` and `/healthz` with their named checks."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from mockkube.api.fields import quote
from mockkube.apiserver.registry.options import Query
from mockkube.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HealthCheck:
    """Named health check."""

    name: str
    healthy: Callable[[], bool] = lambda: True


@dataclass(frozen=True, slots=True)
class HealthReport:
    """Response of a health endpoint."""

    code: int
    text: str


# Post-start hooks of upstream. They are done before this server answers requests, so their checks always pass.
_POST_START_HOOK_CHECKS: Final = (
    *(f"poststarthook/{name}" for name in (
        "start-apiserver-admission-initializer", "generic-apiserver-start-informers",
        "priority-and-fairness-config-consumer", "priority-and-fairness-filter", "storage-object-count-tracker-hook",
        "start-apiextensions-informers", "start-apiextensions-controllers", "crd-informer-synced",
        "start-system-namespaces-controller", "peer-endpoint-reconciler-controller",
        "start-cluster-authentication-info-controller", "start-kube-apiserver-identity-lease-controller",
        "start-kube-apiserver-identity-lease-garbage-collector", "storage-readiness",
        "start-legacy-token-tracking-controller", "start-service-ip-repair-controllers", "rbac/bootstrap-roles",
        "scheduling/bootstrap-system-priority-classes", "priority-and-fairness-config-producer",
        "bootstrap-controller", "start-kubernetes-service-cidr-controller", "start-kube-aggregator-informers",
        "apiservice-status-local-available-controller", "apiservice-status-remote-available-controller",
        "apiservice-registration-controller", "apiservice-discovery-controller", "kube-apiserver-autoregistration",
    )),
    "autoregister-completion",
    "poststarthook/apiservice-openapi-controller",
    "poststarthook/apiservice-openapiv3-controller",
)  # fmt: skip
_CHECK_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "readyz": ("ping", "log", "etcd", "etcd-readiness", "informer-sync", *_POST_START_HOOK_CHECKS, "shutdown"),
    "livez": ("ping", "log", "loopback-serving-certificate", "etcd", *_POST_START_HOOK_CHECKS),
    "healthz": ("ping", "log", "loopback-serving-certificate", "etcd", *_POST_START_HOOK_CHECKS),
}
ENDPOINTS: Final = tuple(_CHECK_NAMES)


def endpoint_checks(endpoint: str, known: Sequence[HealthCheck]) -> list[HealthCheck]:
    """Return the checks of an endpoint in upstream's order; only those of `known` can fail."""
    by_name = {check.name: check for check in known}
    return [by_name.get(name) or HealthCheck(name) for name in _CHECK_NAMES[endpoint]]


def run_checks(endpoint: str, name: str, checks: Sequence[HealthCheck], query: Query) -> HealthReport | None:
    """Run the checks of an endpoint, or only the named one; return None if it does not exist."""
    # upstream 1.36: apiserver/pkg/server/healthz/healthz.go
    checks = endpoint_checks(endpoint, checks)
    if name:
        named = [check for check in checks if check.name == name]
        if not named:
            return None
        return (
            HealthReport(200, "ok")
            if named[0].healthy()
            else HealthReport(500, f"internal server error: {name} failed\n")
        )
    # An excluded check counts as passed, and an unknown one is only a warning, as upstream.
    excluded = set(query.get("exclude", ()))
    lines, failed = [], []
    for check in checks:
        if check.name in excluded:
            lines.append(f"[+]{check.name} excluded: ok")
        elif check.healthy():
            lines.append(f"[+]{check.name} ok")
        else:
            # upstream logs the reason and does not show it: health endpoints are open to everybody.
            lines.append(f"[-]{check.name} failed: reason withheld")
            failed.append(check.name)
    if unknown := sorted(excluded - {check.name for check in checks}):
        lines.append(f"warn: some health checks cannot be excluded: no matches for {','.join(map(quote, unknown))}")
    if failed:
        return HealthReport(500, "\n".join([*lines, f"{endpoint} check failed\n"]))
    if "verbose" in query:
        return HealthReport(200, "\n".join([*lines, f"{endpoint} check passed\n"]))
    return HealthReport(200, "ok")
