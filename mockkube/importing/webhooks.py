"""Webhooks of an import: nothing of the imported cluster answers, so by default they are stubbed.

A stub keeps the configuration, which a rehearsal reads, with a match condition that never holds: every request is
allowed without a call. Conversion webhooks become the strategy None, and aggregated APIs are left out.
"""

from enum import StrEnum
from typing import Final

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.printers.accessors import sections

STUB_CONDITION: Final = {"name": "stub.mockkube.dev", "expression": "false"}
CONVERSION_ANNOTATION: Final = "mockkube.dev/conversion-webhook"
_MATCH_CONDITIONS_MAX: Final = 64
_CONFIGURATIONS: Final = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")


class WebhookMode(StrEnum):
    """Treatment of webhooks."""

    STUB = "stub"
    KEEP = "keep"
    DROP = "drop"


def adapt_webhooks(obj: ReadOnlyObject, mode: WebhookMode) -> ReadOnlyObject | None:
    """Return an object with its webhooks adapted; None if it is left out."""
    if mode is WebhookMode.KEEP:
        return obj
    kind = obj["kind"]
    if kind in _CONFIGURATIONS:
        return None if mode is WebhookMode.DROP else _stub_configuration(obj)
    if kind == "CustomResourceDefinition":
        return _without_conversion_webhook(obj)
    # Requests for an aggregated API would go to an address of the real cluster.
    if kind == "APIService" and (obj.get("spec") or {}).get("service"):
        return None
    return obj


def is_stub(webhook: ReadOnlyObject) -> bool:
    """Return whether a webhook of a configuration is a stub."""
    return STUB_CONDITION in (webhook.get("matchConditions") or ())


def _stub_configuration(obj: ReadOnlyObject) -> Object:
    webhooks = [_stub_webhook(one) for one in sections(obj, "webhooks")]
    return {**obj, "webhooks": webhooks} if webhooks else dict(obj)


def _stub_webhook(webhook: ReadOnlyObject) -> Object:
    conditions = list(webhook.get("matchConditions") or ())
    if STUB_CONDITION in conditions:
        return dict(webhook)
    return {**webhook, "matchConditions": [*conditions[: _MATCH_CONDITIONS_MAX - 1], STUB_CONDITION]}


def _without_conversion_webhook(crd: ReadOnlyObject) -> ReadOnlyObject:
    conversion = (crd.get("spec") or {}).get("conversion") or {}
    if conversion.get("strategy") != "Webhook":
        return crd
    metadata = crd["metadata"]
    annotations = {**(metadata.get("annotations") or {}), CONVERSION_ANNOTATION: "stubbed"}
    spec = {**crd["spec"], "conversion": {"strategy": "None"}}
    return {**crd, "metadata": {**metadata, "annotations": annotations}, "spec": spec}
