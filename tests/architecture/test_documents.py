"""The documents name what there is: commands, flags, fields; and their links lead somewhere."""

import re
from pathlib import Path

import click
import pytest
from mockkube_storage.engines.catalogue import ENGINES

from mockkube.apiserver.admission.catalogue import PLUGINS
from mockkube.cli.catalogue import COMMANDS
from mockkube.cli.commands.up import command as up
from mockkube.cluster.configuration.cluster_configuration import SETTINGS
from mockkube.controllers.catalogue import CONTROLLERS
from mockkube.controllers.catalogue import ControllerDescriptor as Controller
from mockkube.scheduler.catalogue import PLUGINS as SCHEDULER_PLUGINS
from mockkube.scheduler.catalogue import PluginEntry as Plugin

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
COMMANDS_TEXT = (ROOT / "docs" / "commands.md").read_text()

_LINK = re.compile(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)")
_DECISION = re.compile(r"(\d{4})-[a-z0-9-]+\.md")


@pytest.mark.parametrize("name", [entry.name for entry in COMMANDS])
def test_a_command_has_its_heading(name: str) -> None:
    assert f"\n## mockkube {name}\n" in COMMANDS_TEXT


@pytest.mark.parametrize(
    "flag", sorted(name for option in up.params for name in [*option.opts, *option.secondary_opts])
)
def test_a_flag_of_up_is_explained(flag: str) -> None:
    assert f"`{flag}" in COMMANDS_TEXT


@pytest.mark.parametrize("key", [setting.key for setting in SETTINGS])
def test_a_field_of_the_configuration_file_is_named(key: str) -> None:
    assert re.search(rf"^{key}:|`{key}`", COMMANDS_TEXT, re.MULTILINE)


def test_every_setting_can_be_said_by_a_flag() -> None:
    # A key in the command line could be read by every user of the machine.
    settings = {setting.name for setting in SETTINGS} - {"cluster_key"}
    assert {option.name for option in up.params if isinstance(option, click.Option)} == {*settings, "config"}


@pytest.mark.parametrize("scheme", [prefix for engine in ENGINES for prefix in engine.prefixes[:1]])
def test_a_store_engine_is_named(scheme: str) -> None:
    assert f"`{scheme}" in COMMANDS_TEXT


@pytest.mark.parametrize("name", [entry.name for entry in PLUGINS if entry.make is not None])
def test_an_admission_plugin_that_acts_is_described(name: str) -> None:
    assert f"\n| `{name}` |" in (ROOT / "docs" / "admission.md").read_text()


@pytest.mark.parametrize("entry", [entry for entry in CONTROLLERS if entry.build is not None], ids=lambda one: one.name)
def test_a_controller_that_runs_has_its_row(entry: Controller) -> None:
    alias = f"`{entry.alias}`" if entry.alias else ""
    assert f"\n| `{entry.name}` | {alias}".rstrip() in (ROOT / "docs" / "controllers.md").read_text()


@pytest.mark.parametrize("entry", SCHEDULER_PLUGINS, ids=lambda one: one.name)
def test_a_plugin_of_the_scheduler_has_its_row(entry: Plugin) -> None:
    weight = f"{entry.weight} |" if entry.weight else "|"
    assert f"\n| `{entry.name}` | {weight}" in (ROOT / "docs" / "scheduler.md").read_text()


@pytest.mark.parametrize("document", DOCUMENTS, ids=[str(path.relative_to(ROOT)) for path in DOCUMENTS])
def test_links_lead_to_what_is_there(document: Path) -> None:
    missing = [link for link in _LINK.findall(document.read_text()) if not (document.parent / link).exists()]
    assert missing == []


def test_decisions_are_numbered_without_a_gap() -> None:
    decisions = sorted(path.name for path in (ROOT / "docs" / "adr").iterdir())
    numbers = [match[1] for name in decisions if (match := _DECISION.fullmatch(name))]
    assert numbers == [f"{number:04}" for number in range(len(decisions))]


@pytest.mark.parametrize("name", [entry.name for entry in COMMANDS])
def test_a_command_is_called_by_a_test(name: str) -> None:
    tests = "".join(path.read_text() for path in (ROOT / "tests" / "unit" / "cli").rglob("test_*.py"))
    assert f'"{name}"' in tests
