"""Emulated and minimum compatibility versions: how they are read, and which are allowed."""

import pytest

from mockkube.features.effective_version import EffectiveVersion, oldest_emulated, parse_effective_version
from mockkube.features.errors import FlagError
from mockkube.features.versions import Version

V136 = Version(1, 36)


@pytest.mark.parametrize(
    ("binary", "lowest"),
    [(33, 31), (34, 31), (35, 32), (36, 33), (37, 34), (38, 35)],
    ids=lambda minor: f"1.{minor}",
)
def test_a_binary_emulates_three_minors_but_nothing_before_131(binary: int, lowest: int) -> None:
    assert oldest_emulated(Version(1, binary)) == Version(1, lowest)


@pytest.mark.parametrize(
    ("emulated", "minimum", "expected"),
    [
        pytest.param((), (), EffectiveVersion(V136, V136, Version(1, 35)), id="nothing told"),
        pytest.param(("",), (), EffectiveVersion(V136, V136, Version(1, 35)), id="an empty value"),
        pytest.param(("1.34",), (), EffectiveVersion(V136, Version(1, 34), Version(1, 33)), id="the minimum follows"),
        pytest.param(("1.33",), (), EffectiveVersion(V136, Version(1, 33), Version(1, 33)), id="not below the floor"),
        pytest.param(("kube=v1.35",), ("1.33",), EffectiveVersion(V136, Version(1, 35), Version(1, 33)), id="both"),
        pytest.param(
            ("1.35-alpha",), (), EffectiveVersion(V136, Version(1, 35), Version(1, 34)), id="with something behind"
        ),
        pytest.param(("1.35.0",), (), EffectiveVersion(V136, Version(1, 35), Version(1, 34)), id="patch zero"),
    ],
)
def test_what_is_told(emulated: tuple[str, ...], minimum: tuple[str, ...], expected: EffectiveVersion) -> None:
    assert parse_effective_version(V136, emulated, minimum) == expected
    assert not expected.validate()


@pytest.mark.parametrize(
    ("text", "error"),
    [
        pytest.param("abc", 'could not parse "abc" as version', id="no number"),
        pytest.param("1", 'illegal version string "1"', id="one number"),
        pytest.param("01.35", 'illegal zero-prefixed version component "01" in "01.35"', id="a zero before"),
        pytest.param("1.36.1", "patch version not allowed, got: kube=1.36.1", id="a patch"),
        pytest.param("1.36.1-rc.1", "patch version not allowed, got: kube=1.36.1-rc.1", id="a patch of a candidate"),
        pytest.param("kube:1.35", 'could not parse "kube:1.35" as version', id="a colon"),
        pytest.param("foo=1.35", "component not registered: foo", id="another component"),
        pytest.param("1.35,kube=1.34", "duplicate version flag, kube=1.35 and kube=1.34", id="twice"),
        pytest.param("1.35,", 'could not parse "" as version', id="a comma too many"),
    ],
)
def test_what_cannot_be_read(text: str, error: str) -> None:
    with pytest.raises(FlagError) as raised:
        parse_effective_version(V136, [text])
    assert raised.value.errors == (error,)
    with pytest.raises(FlagError, match=r"^patch version not allowed"):
        parse_effective_version(V136, (), ["1.35.2"])


@pytest.mark.parametrize(
    ("standing", "errors"),
    [
        pytest.param(
            EffectiveVersion.from_version(V136).with_emulated(Version(1, 37)),
            ("emulation version 1.37 is not between [1.33, 1.36.0]",),
            id="above the binary",
        ),
        pytest.param(
            EffectiveVersion.from_version(Version(1, 37)).with_emulated(Version(1, 33)),
            (
                "emulation version 1.33 is not between [1.34, 1.37.0-rc.1]",
                "minCompatibilityVersion version 1.34 is not between [1.34, 1.33]",
            ),
            id="below the floor",
        ),
        pytest.param(
            EffectiveVersion(V136, Version(1, 35), V136),
            ("minCompatibilityVersion version 1.36 is not between [1.33, 1.35]",),
            id="a minimum above the emulated version",
        ),
    ],
)
def test_ranges(standing: EffectiveVersion, errors: tuple[str, ...]) -> None:
    assert standing.validate() == errors
