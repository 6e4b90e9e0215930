"""Gates and version flags answer as the real binaries did (recordings in MOCKKUBE_ORACLE/skew)."""

import json
import os
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from mockkube.features.errors import FlagError
from mockkube.features.flags import ParsedFlags, parse_flags
from mockkube.features.gate_table import gate_dependencies, gate_histories
from mockkube.features.gates import gate_states
from mockkube.features.stages import GateStage, Maturity, stage_at
from mockkube.features.versions import Version

ORACLE = Path(os.environ.get("MOCKKUBE_ORACLE", Path(__file__).parents[3] / "shared" / "oracle")) / "skew"
RELEASES = tuple(Version(1, minor) for minor in range(33, 38))

pytestmark = pytest.mark.skipif(not ORACLE.is_dir(), reason=f"no recordings in {ORACLE}: set MOCKKUBE_ORACLE")


@cache
def recorded(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((ORACLE / name).read_bytes())
    return content


def gates() -> dict[str, Any]:
    found: dict[str, Any] = recorded("feature_gates.json")["gates"]
    return found


def read(specs: list[dict[str, Any]]) -> list[GateStage]:
    return [
        GateStage(
            Version.parse(spec["version"]),
            Maturity(spec["stage"]),
            spec["default"],
            spec["lockToDefault"],
            Version.parse(spec["minCompatibilityVersion"]) if "minCompatibilityVersion" in spec else None,
        )
        for spec in specs
    ]


@pytest.mark.parametrize("release", RELEASES, ids=str)
def test_each_release_knows_the_recorded_gates(release: Version) -> None:
    clients = recorded("feature_gates.json")["special_and_client_gates"]
    expected = {name for name, gate in gates().items() if gate["at"][str(release)] is not None}
    expected |= {name for name, at in clients.items() if at[str(release)] is not None}
    assert set(gate_histories(release)) == expected
    assert len(expected) == recorded("feature_gates.json")["releases"][str(release)]["gates_in_binary"]


@pytest.mark.parametrize("release", RELEASES, ids=str)
def test_each_history_is_the_recorded_one(release: Version) -> None:
    for name, gate in gates().items():
        if gate["at"][str(release)] is None:
            continue
        specs = read(gate.get("specs_by_release", {}).get(str(release), gate["specs"]))
        assert [stage for stage in gate_histories(release)[name] if stage.version <= release] == [
            stage for stage in specs if stage.version <= release
        ], name


@pytest.mark.parametrize("release", RELEASES, ids=str)
def test_each_gate_starts_in_its_recorded_state(release: Version) -> None:
    for name, gate in gates().items():
        if (at := gate["at"][str(release)]) is not None:
            stage = stage_at(gate_histories(release)[name], release, release.earlier(1))
            assert (stage.default, stage.maturity, stage.locked) == (at["default"], at["stage"], at["locked"]), name


@pytest.mark.parametrize("release", RELEASES, ids=str)
def test_the_client_gates_start_in_their_recorded_state(release: Version) -> None:
    for name, at in recorded("feature_gates.json")["special_and_client_gates"].items():
        if (state := at[str(release)]) is not None:
            stage = stage_at(gate_histories(release)[name], release, release.earlier(1))
            assert (stage.default, stage.maturity) == (state["default"], state["stage"]), name


def recorded_needs(gate: dict[str, Any], release: Version) -> set[str]:
    needs = gate.get("depends_on_by_release", {}).get(str(release), gate.get("depends_on", []))
    return {need.rstrip(")") for need in needs}  # the recording left a bracket on one


@pytest.mark.parametrize("release", RELEASES[2:], ids=str)
def test_nothing_depends_on_what_was_not_recorded(release: Version) -> None:
    for name, needs in gate_dependencies(release).items():
        assert set(needs) <= recorded_needs(gates()[name], release), name


@pytest.mark.parametrize("release", [Version(1, 35), Version(1, 36), Version(1, 37)], ids=str)
def test_as_many_gates_depend_on_others_as_were_counted(release: Version) -> None:
    counted = {Version(1, 35): 33, Version(1, 36): 49, Version(1, 37): 58}
    assert len(gate_dependencies(release)) == counted[release]


def test_nothing_depends_on_anything_before_135() -> None:
    assert not gate_dependencies(Version(1, 33))
    assert not gate_dependencies(Version(1, 34))


def flags_of(arguments: list[str]) -> dict[str, list[str]]:
    flags: dict[str, list[str]] = {}
    for argument in arguments:
        name, equals, value = argument.removeprefix("--").partition("=")
        flags.setdefault(name, []).extend([value] if equals else [])
    return flags


def comparable(line: str) -> tuple[str, frozenset[str]]:
    """Return a log line and the names in its list, which upstream prints in random order."""
    text, _, names = line.partition("features=[")
    return text, frozenset(names.removesuffix("]").split())


def cases() -> list[Any]:
    if not ORACLE.is_dir():
        return []
    return [
        pytest.param(case, id=f"{case['version']} {case['component']} {' '.join(case['flags'])}")
        for case in recorded("flag_parsing.json")["cases"]
    ]


def settled(case: dict[str, Any]) -> ParsedFlags:
    return parse_flags(case["component"], Version.parse(case["version"]), flags_of(case["flags"]))


@pytest.mark.parametrize("case", cases())
def test_a_command_line_is_judged_as_recorded(case: dict[str, Any]) -> None:
    if not case["accepted"]:
        with pytest.raises(FlagError) as raised:
            settled(case)
        assert sorted(raised.value.errors) == sorted(case["errors"])
        return
    said = [comparable(str(notice)) for notice in settled(case).gates.warnings]
    for line, (text, names) in zip(case["log"], said, strict=True):
        expected, listed = comparable(line)
        assert text == expected
        assert names == listed or (listed == {"..."} and len(names) > 1)


def readings() -> list[Any]:
    """Return what each component was told, with the metrics it then showed."""
    if not ORACLE.is_dir():
        return []
    found = []
    for sequence in recorded("versions.json")["sequences"]:
        components = sequence["components"]
        for number, step in enumerate(sequence["steps"]):
            if step["do"]["op"] == "set":
                components = {**components, **step["do"]["components"]}
            elif step["do"]["op"] == "lines":
                found.append(pytest.param(components, step["expect"], id=f"{sequence['name']} {number}"))
    return found


@pytest.mark.parametrize(("components", "expect"), readings())
def test_the_metric_of_each_gate_is_the_recorded_one(components: dict[str, Any], expect: dict[str, Any]) -> None:
    ((component, told),) = components.items()
    lines = [
        f'kubernetes_feature_enabled{{name="{state.name}",stage="{state.stage}"}} {int(state.enabled)}'
        for state in gate_states(Version.parse(told["version"]), told["gates"], component=component)
    ]
    assert set(expect["has"]) <= set(lines)
    assert not [line for line in lines for pattern in expect.get("lacks", ()) if re.search(pattern, line)]
