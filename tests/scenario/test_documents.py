"""Examples in the documents do what the documents say."""

import re
from pathlib import Path

from mockkube.scenario.runner.loading import parse
from mockkube.scenario.runner.results import RunOutcome
from mockkube.scenario.runner.scenario_runner import ScenarioRun, play

DOCS = Path(__file__).parents[2] / "docs"
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(document: str, language: str) -> list[str]:
    return [text for kind, text in _BLOCK.findall((DOCS / document).read_text()) if kind == language]


async def test_the_first_scenario_passes() -> None:
    [scenario] = parse(blocks("scenarios.md", "yaml")[0])
    result = await play(ScenarioRun(scenario))
    assert (result.outcome, result.message) == (RunOutcome.PASSED, "")


def test_the_other_steps_can_be_read() -> None:
    first, *others = blocks("scenarios.md", "yaml")
    for text in (one for one in others if one.startswith("- ")):
        steps = "\n".join(f"    {line}" for line in text.splitlines())
        assert parse(first.partition("  steps:\n")[0] + f"  steps:\n{steps}\n")[0].blocks


def test_the_claims_can_be_read() -> None:
    first, *others = blocks("scenarios.md", "yaml")
    head = "\n".join(line for line in first.splitlines() if not line.startswith(("source:", "claim:", "outcome:")))
    claims = [parse(f"{head}\n{text}")[0].claims for text in others if not text.startswith("- ")]
    assert [len(one) for one in claims] == [1, 2]


def test_python_is_python() -> None:
    for text in blocks("testing.md", "python"):
        lines = "\n".join(f"    {line}" for line in text.splitlines())
        compile(f"async def example():\n{lines}\n", "testing.md", "exec")
