"""Every order in which workers can go."""

from dataclasses import dataclass, field

from mockkube.runtime.steps import Signal, settle
from mockkube.scenario.choosers import EnumeratedChooser, enumerate_choosers


@dataclass
class Once:
    """Works a number of times, and notes it."""

    name: str
    log: list[str]
    left: int = 1
    signal: Signal = field(default_factory=Signal)

    def is_ready(self) -> bool:
        return self.left > 0

    def wake_at(self) -> None:
        return None

    async def step(self) -> None:
        self.left -= 1
        self.log.append(self.name)


async def run(chooser: EnumeratedChooser, **left: int) -> str:
    log: list[str] = []
    workers = [Once(name, log, count) for name, count in left.items()]
    await settle(lambda: workers, chooser)
    return "".join(log)


async def test_every_order_is_tried_once() -> None:
    seen = [await run(chooser, a=1, b=1, c=1) for chooser in enumerate_choosers(10)]
    assert seen == ["abc", "acb", "bac", "bca", "cab", "cba"]


async def test_after_so_many_choices_the_first_goes() -> None:
    assert [await run(chooser, a=1, b=1, c=1) for chooser in enumerate_choosers(1)] == ["abc", "bac", "cab"]


async def test_a_path_can_be_played_again() -> None:
    assert await run(EnumeratedChooser((1, 1)), a=2, b=2) == "bbaa"


async def test_where_there_is_no_choice_there_is_one_run() -> None:
    assert [await run(chooser, a=3) for chooser in enumerate_choosers(5)] == ["aaa"]
