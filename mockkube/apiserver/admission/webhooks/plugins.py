"""The plugins that ask webhooks: one after the other what may change the object, at once what only judges it."""

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
    """Lets webhooks change what is written."""

    name = "MutatingAdmissionWebhook"
    operations = _OPERATIONS

    async def amend(self, request: Request, *, again: bool) -> bool:
        """Ask each webhook in turn; in a second round only those that want to see what others changed since."""
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
    """Put the patched object in the place of the request's; return whether it differs."""
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
    """Lets webhooks refuse what is written."""

    name = "ValidatingAdmissionWebhook"
    operations = _OPERATIONS

    async def settle(self, request: Request) -> None:
        """Ask all webhooks that the request is for; the first that refuses is the answer."""
        asked = await request.resource.decided(partial(_occasions, request))
        if not asked:
            return
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_asked(hook, occasion)) for hook, occasion in asked]
        for task in tasks:
            if (refusal := task.result()) is not None:
                raise refusal


def _occasions(request: Request) -> list[tuple[Hook, Occasion]]:
    found = ((hook, hook.occasion(request)) for hook in hooks(request, "validatingwebhookconfigurations"))
    return [(hook, occasion) for hook, occasion in found if occasion is not None]


async def _asked(hook: Hook, occasion: Occasion) -> ApiError | None:
    """Ask a webhook; return what refuses the request."""
    try:
        await hook.ask(occasion)
    except ApiError as error:
        return error
    return None
