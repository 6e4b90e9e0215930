"""Check `expectRejected`: a write that the API must reject, with its code, reason and message."""

import re
from dataclasses import dataclass
from typing import Annotated, ClassVar

from mockkube.api.errors import ApiError, Unavailable
from mockkube.scenario.errors import Failure
from mockkube.scenario.outcomes import refusal
from mockkube.scenario.references import placed
from mockkube.scenario.step import Step
from mockkube.scenario.steps.apply import Apply
from mockkube.scenario.steps.create import Create
from mockkube.scenario.steps.delete import Delete
from mockkube.scenario.steps.patch import Patch
from mockkube.scenario.steps.update import Update
from mockkube.scenario.steps.writing import Writing
from mockkube.scenario.world import World


@dataclass(frozen=True)
class ExpectRejected(Step):
    """Check that a write is rejected with this code, reason and message, and changes nothing."""

    verb: ClassVar[str] = "expectRejected"

    create: Annotated[Create | None, "what is refused"] = None
    apply: Annotated[Apply | None, "what is refused"] = None
    update: Annotated[Update | None, "what is refused"] = None
    patch: Annotated[Patch | None, "what is refused"] = None
    delete: Annotated[Delete | None, "what is refused"] = None
    code: Annotated[int | None, "the HTTP status, like 422"] = None
    reason: Annotated[str, "the reason, like Invalid"] = ""
    message: Annotated[str, "a part of the message"] = ""
    matches: Annotated[str, "a regular expression that the message has"] = ""

    def complaint(self) -> str:
        """Return an error unless exactly one write is given."""
        given = [one for one in self._writes() if one is not None]
        if len(given) != 1:
            return "give one of create, apply, update, patch, delete"
        try:
            re.compile(self.matches)
        except re.error as error:
            return f"matches: not a regular expression: {error}"
        return ""

    def _writes(self) -> tuple[Step | None, ...]:
        return (self.create, self.apply, self.update, self.patch, self.delete)

    async def play(self, world: World) -> None:
        """Try the write and compare the rejection."""
        [write] = [one for one in self._writes() if one is not None]
        error = await _refused(world, write)
        if error is None:
            raise Failure(f"{write.verb} was not refused")
        wrong = self._differences(error)
        if wrong:
            raise Failure(f"refused otherwise than expected: {'; '.join(wrong)}: {refusal(error)}")

    def _differences(self, error: ApiError) -> list[str]:
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


async def _refused(world: World, write: Step) -> ApiError | None:
    """Return the rejection of a write; None if it was accepted. A stopped server rejects, too."""
    try:
        await _attempted(world, write)
    except Unavailable as error:
        return error
    except ApiError as error:
        return error
    return None


async def _attempted(world: World, write: Step) -> None:
    """Write; raises ApiError for a rejection."""
    # The step's own `play` would turn the rejection into a Failure and lose code and reason.
    match write:
        case Patch(ref=ref) if ref is not None:
            await write.send(world)
        case Writing():
            client = world.client(write.who())
            for obj in write.objects(world):
                named, whole = await placed(world, client, obj)
                await write.write(client, named, whole)
        case Delete():
            await write.ask(world)
        case _:
            raise Failure(f"{write.verb} writes nothing")
