"""Admission webhooks of the workload: they answer slowly, or not within their timeout."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.perturb.perturbation import Perturbation, make_fault
from mockkube.perturb.recorder import RunRecord
from mockkube.perturb.workload import Workload

SLOW = "slow-webhook"
TIMEOUT = "webhook-timeout"
_KINDS: Final = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
_TIMEOUT_DEFAULT: Final = 10
_SLOW_SECONDS: Final = 2.0
# Part of its timeout after which a slow webhook answers at the latest.
_SLOW_SHARE: Final = 0.8
# Longer than any timeout.
_NEVER: Final = 60.0


def plan_slow_webhooks(record: RunRecord, workload: Workload) -> Iterator[Perturbation]:
    """Yield slow answers of each webhook in each step in which it is called for a write of the controller."""
    for step, name, webhook in _list_called(record):
        seconds = min(_SLOW_SECONDS, _SLOW_SHARE * _get_timeout(webhook))
        yield _make(SLOW, workload, step, name, seconds, f"the webhook {name} takes {seconds:g} s in step {step}")


def plan_webhook_timeouts(record: RunRecord, workload: Workload) -> Iterator[Perturbation]:
    """Yield webhooks that do not answer in time in a step; their failurePolicy decides what becomes of the write."""
    for step, name, webhook in _list_called(record):
        ignored = webhook.get("failurePolicy") == "Ignore"
        effect = "writes pass without it (failurePolicy Ignore)" if ignored else "writes fail (failurePolicy Fail)"
        timeout = f"within its {_get_timeout(webhook):g} s"
        text = f"the webhook {name} does not answer {timeout} in step {step}: {effect}"
        yield _make(TIMEOUT, workload, step, name, _NEVER, text)


def _make(kind: str, workload: Workload, step: int, name: str, seconds: float, text: str) -> Perturbation:
    return Perturbation(
        id=f"{kind}/{step}/{name}",
        kind=kind,
        step=step,
        text=text,
        # Only for the controller: writes of users would fail, too, and with them the step.
        faults=tuple(
            make_fault({"delaySeconds": seconds}, {"user": one.user, "webhook": name}) for one in workload.processes
        ),
    )


def _list_called(record: RunRecord) -> Iterator[tuple[int, str, ReadOnlyObject]]:
    """Yield steps, names and specifications of webhooks that are called for the controller."""
    known: Mapping[str, Any] = {
        webhook["name"]: webhook
        for change in record.changes
        if change.object.get("kind") in _KINDS
        for webhook in change.object.get("webhooks") or ()
    }
    setup = (obj for step in record.steps[:1] for obj in step.objects.values() if obj.get("kind") in _KINDS)
    known = {**{one["name"]: one for obj in setup for one in obj.get("webhooks") or ()}, **known}
    for step, name in dict.fromkeys((one.step, one.webhook) for one in record.webhook_calls):
        yield step, name, known.get(name, {})


def _get_timeout(webhook: ReadOnlyObject) -> float:
    return float(webhook.get("timeoutSeconds") or _TIMEOUT_DEFAULT)
