"""Check `expectRejected`: a write that the API must reject, with its code, reason and message."""

import re
from typing import Annotated, ClassVar

from mockkube.api.errors import ApiError, Unavailable
from mockkube.lazy_dataclasses import dataclass
from mockkube.scenario.errors import StepFailed
from mockkube.scenario.references import with_namespace
from mockkube.scenario.responses import format_error
from mockkube.scenario.step import ScenarioStep
from mockkube.scenario.steps.apply import ApplyStep
from mockkube.scenario.steps.create import CreateStep
from mockkube.scenario.steps.delete import DeleteStep
from mockkube.scenario.steps.patch import PatchStep
from mockkube.scenario.steps.update import UpdateStep
from mockkube.scenario.steps.write import WriteStep
from mockkube.scenario.world import World


@dataclass(frozen=True)
class ExpectRejectedCheck(ScenarioStep):
    """Check that a write is rejected with this code, reason and message, and changes nothing."""

    verb: ClassVar[str] = "expectRejected"

    create: Annotated[CreateStep | None, "what is refused"] = None
    apply: Annotated[ApplyStep | None, "what is refused"] = None
    update: Annotated[UpdateStep | None, "what is refused"] = None
    patch: Annotated[PatchStep | None, "what is refused"] = None
    delete: Annotated[DeleteStep | None, "what is refused"] = None
    code: Annotated[int | None, "the HTTP status, like 422"] = None
    reason: Annotated[str, "the reason, like Invalid"] = ""
    message: Annotated[str, "a part of the message"] = ""
    matches: Annotated[str, "a regular expression that the message has"] = ""

    def complaint(self) -> str:
        """Return an error unless exactly one write is given."""
        given = [one for one in self._given_writes() if one is not None]
        if len(given) != 1:
            return "give one of create, apply, update, patch, delete"
        try:
            re.compile(self.matches)
        except re.error as error:
            return f"matches: not a regular expression: {error}"
        return ""

    def _given_writes(self) -> tuple[ScenarioStep | None, ...]:
        return (self.create, self.apply, self.update, self.patch, self.delete)

    async def play(self, world: World) -> None:
        """Try the write and compare the rejection."""
        [write] = [one for one in self._given_writes() if one is not None]
        error = await _find_rejection(world, write)
        if error is None:
            raise StepFailed(f"{write.verb} was not refused")
        wrong = self._find_differences(error)
        if wrong:
            raise StepFailed(f"refused otherwise than expected: {'; '.join(wrong)}: {format_error(error)}")

    def _find_differences(self, error: ApiError) -> list[str]:
        wrong = []
        if self.code is not None and error.code != self.code:
            wrong.append(f"code {error.code} instead of {self.code}")
        if self.reason and error.reason != self.reason:
            wrong.append(f"reason {error.reason} instead of {self.reason}")
        if self.message not in error.message:
            wrong.append(f"the message lacks {self.message!r}")
        if self.matches and re.search(self.matches, error.message) is None:
            wrong.append(f"the message does not match {self.matches!r}")
        return wrong


async def _find_rejection(world: World, write: ScenarioStep) -> ApiError | None:
    """Return the rejection of a write; None if it was accepted. A stopped server rejects, too."""
    try:
        await _send(world, write)
    except Unavailable as error:
        return error
    except ApiError as error:
        return error
    return None


async def _send(world: World, write: ScenarioStep) -> None:
    """Write; raises ApiError for a rejection."""
    # The step's own `play` would turn the rejection into a StepFailed and lose code and reason.
    match write:
        case PatchStep(ref=ref) if ref is not None:
            await write.send_patch(world)
        case WriteStep():
            client = world.client(write.request_options())
            for obj in write.list_manifests(world):
                resource_kind, manifest = await with_namespace(world, client, obj)
                await write.write_object(client, resource_kind, manifest)
        case DeleteStep():
            await write.delete_objects(world)
        case _:
            raise StepFailed(f"{write.verb} writes nothing")
