"""Every step and check: told apart by its verb, explained, readable from YAML and in the schema."""

from pathlib import Path
from typing import Any

import pytest

from mockkube.scenario.fields import list_arguments
from mockkube.scenario.runner.catalogue import CHECKS, STEPS, VERBS
from mockkube.scenario.runner.file_schema import make_file_schema, render_schema
from mockkube.scenario.step import ScenarioStep

ROOT = Path(__file__).parents[4]
TEXT = (ROOT / "docs" / "scenarios.md").read_text()


def test_verbs_are_unique() -> None:
    assert len(VERBS) == len(STEPS) + len(CHECKS)


@pytest.mark.parametrize("step", VERBS.values(), ids=list(VERBS))
def test_a_step_is_frozen_and_explains_itself_and_its_arguments(step: type[ScenarioStep]) -> None:
    assert (step.__doc__ or "").rstrip().endswith(".")
    assert step.__dataclass_params__.frozen  # type: ignore[attr-defined]
    assert [key for key, one in list_arguments(step).items() if not one.text] == []


@pytest.mark.parametrize("verb", VERBS)
def test_a_step_is_in_the_documents_and_played_by_a_test(verb: str) -> None:
    assert f"`{verb}`" in TEXT
    played = [path.read_text() for path in (ROOT / "tests" / "scenario").iterdir() if path.is_file()]
    played += [path.read_text() for path in (ROOT / "conformance").rglob("*.yaml")]
    assert any(f"{verb}:" in text for text in played)


def test_the_schema_beside_the_scenarios_is_current() -> None:
    assert (ROOT / "conformance" / "scenario.schema.json").read_text() == render_schema() + "\n"


def test_the_schema_refers_to_nothing_that_is_not_there() -> None:
    whole = make_file_schema()

    def refs(node: Any) -> set[str]:
        below = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
        found = {node["$ref"]} if isinstance(node, dict) and isinstance(node.get("$ref"), str) else set()
        return found.union(*map(refs, below))

    assert {ref.removeprefix("#/$defs/") for ref in refs(whole)} <= set(whole["$defs"])
