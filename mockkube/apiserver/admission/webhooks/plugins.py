"""Plugins that call webhooks: mutating ones one after the other, validating ones in parallel."""

# upstream 1.36: apiserver/pkg/admission/plugin/webhook/mutating/dispatcher.go, validating/dispatcher.go
import asyncio
from collections.abc import Iterator, Sequence
from functools import partial

from mockkube.api.errors import ApiError, Internal
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.patching import json_patch
from mockkube.api.patching.errors import PatchRejected
from mockkube.apiserver.admission.policies.evaluation import VersionedAttributes
from mockkube.apiserver.admission.policies.matching import ConfiguredRules
from mockkube.apiserver.admission.webhooks.webhook import AdmissionWebhook, list_webhooks
from mockkube.apiserver.registry.admission import AdmissionAttributes, AdmissionPlugin, Operation

_OPERATIONS = tuple(Operation)


def _read_criteria(configuration: ReadOnlyObject) -> Iterator[ReadOnlyObject]:
    """Yield the match criteria of the webhooks of a configuration; one without rules matches nothing."""
    for webhook in configuration.get("webhooks") or ():
        if rules := webhook.get("rules"):
            yield {"resourceRules": rules, "matchPolicy": webhook.get("matchPolicy")}


class MutatingAdmissionWebhook(AdmissionPlugin):
    """Calls webhooks that may change the object."""

    name = "MutatingAdmissionWebhook"
    operations = _OPERATIONS

    def __init__(self) -> None:
        self._rules = ConfiguredRules("mutatingwebhookconfigurations", _read_criteria)

    async def admit_async(self, request: AdmissionAttributes, *, reinvocation: bool) -> bool:
        """Call each webhook in turn; in a reinvocation only those that ask for it."""
        changed = False
        for hook in list_webhooks(request, "mutatingwebhookconfigurations"):
            if reinvocation and not hook.is_reinvocable:
                continue
            attributes = await request.resource.run_with_conversions(partial(hook.match, request))
            if attributes is None:
                continue
            said = await hook.call(attributes)
            if said is not None and said.patch:
                patched = partial(_apply_patch, request, attributes, hook, said.patch)
                changed |= await request.resource.run_with_conversions(patched)
        return changed

    def may_decide_anew(self, request: AdmissionAttributes) -> bool:
        """Return whether the rules of a webhook select the request."""
        return self._rules.may_match(request)


def _apply_patch(
    request: AdmissionAttributes,
    attributes: VersionedAttributes,
    hook: AdmissionWebhook,
    patch: Sequence[ReadOnlyObject],
) -> bool:
    """Set the patched object of the request; return whether it differs."""
    before = attributes.convert(request.obj)
    if before is None:
        why = (
            f'admission webhook "{hook.name}" attempted to modify the object, which is not supported for this operation'
        )
        raise Internal(why)
    try:
        after = json_patch.apply(before, patch)
    except PatchRejected as error:
        raise Internal(str(error)) from error
    return attributes.set_object(after)


class ValidatingAdmissionWebhook(AdmissionPlugin):
    """Calls webhooks that may reject the request."""

    name = "ValidatingAdmissionWebhook"
    operations = _OPERATIONS

    def __init__(self) -> None:
        self._rules = ConfiguredRules("validatingwebhookconfigurations", _read_criteria)

    async def validate_async(self, request: AdmissionAttributes) -> None:
        """Call all matching webhooks; raise the first rejection."""
        matches = await request.resource.run_with_conversions(partial(_find_matches, request))
        if not matches:
            return
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_call(hook, attributes)) for hook, attributes in matches]
        # In the order of the configurations, not of the responses, so that the outcome does not depend on timing.
        for task in tasks:
            if (refusal := task.result()) is not None:
                raise refusal

    def may_decide_anew(self, request: AdmissionAttributes) -> bool:
        """Return whether the rules of a webhook select the request."""
        return self._rules.may_match(request)


def _find_matches(request: AdmissionAttributes) -> list[tuple[AdmissionWebhook, VersionedAttributes]]:
    found = ((hook, hook.match(request)) for hook in list_webhooks(request, "validatingwebhookconfigurations"))
    return [(hook, attributes) for hook, attributes in found if attributes is not None]


async def _call(hook: AdmissionWebhook, attributes: VersionedAttributes) -> ApiError | None:
    """Call a webhook; return the error that rejects the request, if any."""
    try:
        await hook.call(attributes)
    except ApiError as error:
        return error
    return None
