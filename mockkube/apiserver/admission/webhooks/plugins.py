"""Plugins that call webhooks: mutating ones one after the other, validating ones in parallel."""

# upstream 1.36: apiserver/pkg/admission/plugin/webhook/mutating/dispatcher.go, validating/dispatcher.go
import asyncio
from collections.abc import Sequence
from functools import partial

from mockkube.api.errors import ApiError, Internal
from mockkube.api.patching import json_patch
from mockkube.api.patching.errors import PatchRejected
from mockkube.api.types import ReadOnlyObject
from mockkube.apiserver.admission.policies.evaluation import Occasion
from mockkube.apiserver.admission.webhooks.hooks import Hook, hooks
from mockkube.apiserver.registry.admission import Operation, Plugin, Request

_OPERATIONS = (Operation.CREATE, Operation.UPDATE, Operation.DELETE)


class MutatingAdmissionWebhook(Plugin):
    """Calls webhooks that may change the object."""

    name = "MutatingAdmissionWebhook"
    operations = _OPERATIONS

    async def amend(self, request: Request, *, again: bool) -> bool:
        """Call each webhook in turn; in a reinvocation only those that ask for it."""
        changed = False
        for hook in hooks(request, "mutatingwebhookconfigurations"):
            if again and not hook.reinvoked:
                continue
            occasion = await request.resource.decided(partial(hook.occasion, request))
            if occasion is None:
                continue
            said = await hook.ask(occasion)
            if said is not None and said.patch:
                patched = partial(_patched, request, occasion, hook, said.patch)
                changed |= await request.resource.decided(patched)
        return changed


def _patched(request: Request, occasion: Occasion, hook: Hook, patch: Sequence[ReadOnlyObject]) -> bool:
    """Set the patched object of the request; return whether it differs."""
    before = occasion.shown(request.obj)
    if before is None:
        why = (
            f'admission webhook "{hook.name}" attempted to modify the object, which is not supported for this operation'
        )
        raise Internal(why)
    try:
        after = json_patch.apply(before, patch)
    except PatchRejected as error:
        raise Internal(str(error)) from error
    return occasion.take(after)


class ValidatingAdmissionWebhook(Plugin):
    """Calls webhooks that may reject the request."""

    name = "ValidatingAdmissionWebhook"
    operations = _OPERATIONS

    async def settle(self, request: Request) -> None:
        """Call all matching webhooks; raise the first rejection."""
        asked = await request.resource.decided(partial(_occasions, request))
        if not asked:
            return
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_asked(hook, occasion)) for hook, occasion in asked]
        # In the order of the configurations, not of the responses, so that the outcome does not depend on timing.
        for task in tasks:
            if (refusal := task.result()) is not None:
                raise refusal


def _occasions(request: Request) -> list[tuple[Hook, Occasion]]:
    found = ((hook, hook.occasion(request)) for hook in hooks(request, "validatingwebhookconfigurations"))
    return [(hook, occasion) for hook, occasion in found if occasion is not None]


async def _asked(hook: Hook, occasion: Occasion) -> ApiError | None:
    """Call a webhook; return the error that rejects the request, if any."""
    try:
        await hook.ask(occasion)
    except ApiError as error:
        return error
    return None
