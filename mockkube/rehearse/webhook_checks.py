"""Checks of webhooks: which of them stop requests while their pods move or their server does not answer."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.rehearse.findings import Finding, Severity, Topic, name_object
from mockkube.rehearse.upgrade import Upgrade

_CONFIGURATIONS: Final = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")
# Resources that the upgrade itself writes: a webhook that does not answer stops it.
_NEEDED: Final = {"": ("nodes", "pods", "pods/eviction", "events"), "coordination.k8s.io": ("leases",)}


def check_webhooks(upgrade: Upgrade) -> Iterator[Finding]:
    """Yield webhooks with failurePolicy Fail whose pods are none, or all on one node."""
    pods = [pod for pod in upgrade.list_kind("Pod") if (pod.get("status") or {}).get("phase") == "Running"]
    services = {
        (obj["metadata"].get("namespace"), obj["metadata"]["name"]): obj for obj in upgrade.list_kind("Service")
    }
    for configuration in upgrade.list_kind(*_CONFIGURATIONS):
        for webhook in configuration.get("webhooks") or ():
            if webhook.get("failurePolicy", "Fail") == "Fail":
                yield from _check_webhook(configuration, webhook, services, pods)


def _check_webhook(
    configuration: ReadOnlyObject,
    webhook: ReadOnlyObject,
    services: Mapping[tuple[Any, str], ReadOnlyObject],
    pods: Sequence[ReadOnlyObject],
) -> Iterator[Finding]:
    reference = (webhook.get("clientConfig") or {}).get("service")
    if not reference:
        return
    where = f"{reference.get('namespace')}/{reference.get('name')}"
    service = services.get((reference.get("namespace"), reference.get("name", "")))
    if service is None:
        text = f"its service {where} is not in the import: if the cluster lacks it, too, requests are refused"
        yield _make_finding(configuration, webhook, text, f"create the service, or delete the {configuration['kind']}")
        return
    selector = (service.get("spec") or {}).get("selector") or {}
    if not selector:
        return
    namespace = service["metadata"].get("namespace")
    chosen = [
        pod
        for pod in pods
        if pod["metadata"].get("namespace") == namespace
        and selector.items() <= (pod["metadata"].get("labels") or {}).items()
    ]
    nodes = {(pod.get("spec") or {}).get("nodeName") for pod in chosen}
    if not chosen:
        text = f"no pod of its service {where} runs: requests are refused"
        yield _make_finding(configuration, webhook, text, "let its pods run, or set failurePolicy: Ignore")
    elif len(nodes) == 1 and _stops_upgrade(webhook):
        text = f"all pods of its service {where} run on {next(iter(nodes))}: requests are refused while that is drained"
        remedy = "run two replicas on different nodes, or set failurePolicy: Ignore during the upgrade"
        yield _make_finding(configuration, webhook, text, remedy)


def _make_finding(configuration: ReadOnlyObject, webhook: ReadOnlyObject, text: str, remedy: str) -> Finding:
    return Finding(
        Severity.BREAKS,
        Topic.WEBHOOK,
        f"webhook {webhook.get('name')}: {text}",
        remedy,
        kind=configuration["kind"],
        objects=(name_object(configuration),),
    )


def _stops_upgrade(webhook: ReadOnlyObject) -> bool:
    """Return whether the API server calls the webhook for requests of an upgrade."""
    for rule in webhook.get("rules") or ():
        groups, resources = rule.get("apiGroups") or (), rule.get("resources") or ()
        for group, needed in _NEEDED.items():
            if (group in groups or "*" in groups) and any(
                one in ("*", "*/*") or one.partition("/")[0] in {name.partition("/")[0] for name in needed}
                for one in resources
            ):
                return True
    return False
