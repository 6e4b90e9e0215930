import pytest
import semver as independent_semver
from hypothesis import given
from hypothesis import strategies as st

from mockkube.matching import semver
from mockkube.matching.semver import SemanticVersion

_numbers = st.integers(min_value=0, max_value=2**64 - 1)
_small = st.integers(min_value=0, max_value=3)
_words = st.from_regex(r"[0-9]*[A-Za-z-][0-9A-Za-z-]*", fullmatch=True)
_identifiers = st.one_of(_small, _words)
_versions = st.builds(
    SemanticVersion,
    _small,
    _small,
    _small,
    st.lists(_identifiers, max_size=3).map(tuple),
    st.lists(_words, max_size=2).map(tuple),
)


@given(st.builds(SemanticVersion, _numbers, _numbers, _numbers, st.lists(_identifiers, max_size=3).map(tuple)))
def test_what_is_printed_is_read_back(version: SemanticVersion) -> None:
    assert semver.parse(str(version)) == version
    assert str(semver.parse(str(version))) == str(version)


@given(_versions, _versions, _versions)
def test_precedence_is_an_order(one: SemanticVersion, two: SemanticVersion, three: SemanticVersion) -> None:
    assert one.compare(one) == 0
    assert one.compare(two) == -two.compare(one)
    if one.compare(two) <= 0 and two.compare(three) <= 0:
        assert one.compare(three) <= 0


@given(_versions, st.lists(_words, min_size=1, max_size=2).map(tuple))
def test_the_build_does_not_count(version: SemanticVersion, build: tuple[str, ...]) -> None:
    other = SemanticVersion(version.major, version.minor, version.patch, version.pre, build)
    assert other == version
    assert hash(other) == hash(version)


@given(_versions)
def test_a_prerelease_comes_before_its_release(version: SemanticVersion) -> None:
    release = SemanticVersion(version.major, version.minor, version.patch)
    assert version.compare(release) == (-1 if version.pre else 0)


def test_the_order_of_the_standard() -> None:
    texts = [
        "1.0.0-alpha",
        "1.0.0-alpha.1",
        "1.0.0-alpha.beta",
        "1.0.0-beta",
        "1.0.0-beta.2",
        "1.0.0-beta.11",
        "1.0.0-rc.1",
    ]
    versions = [semver.parse(text) for text in [*texts, "1.0.0"]]
    shuffled = versions[::2] + versions[1::2]
    assert sorted(shuffled) == versions


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        pytest.param(" v1.2 ", "1.2.0", id="spaces, a v, a missing patch"),
        pytest.param("01.002.0003-rc.1", "1.2.3-rc.1", id="leading zeros"),
        pytest.param("7", "7.0.0", id="a major alone"),
        pytest.param("5.15.0-1015-gke+x", "5.15.0-1015-gke+x", id="a kernel"),
    ],
)
def test_the_tolerant_reading_forgives(text: str, printed: str) -> None:
    assert str(semver.parse_tolerant(text)) == printed


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param("", 'strconv.ParseUint: parsing "": invalid syntax', id="nothing"),
        pytest.param("v1.2.x", 'Invalid character(s) found in patch number "x"', id="a letter for a patch"),
        pytest.param("containerd://2.1.4", 'Invalid character(s) found in major number "0containerd://2"', id="a URL"),
        pytest.param(
            "1.2-rc1", "Short version cannot contain PreRelease/Build meta data", id="short with a prerelease"
        ),
        pytest.param("1.2.3-01", 'Numeric PreRelease version must not contain leading zeroes "01"', id="zero in front"),
        pytest.param("1.2.3-", "Prerelease is empty", id="an empty prerelease"),
        pytest.param("1.2.3+", "Build meta data is empty", id="an empty build"),
        pytest.param(
            "1.2.18446744073709551616",
            'strconv.ParseUint: parsing "18446744073709551616": value out of range',
            id="a patch past 64 bits",
        ),
    ],
)
def test_the_tolerant_reading_complains_as_upstream(text: str, complaint: str) -> None:
    with pytest.raises(semver.SemverError) as raised:
        semver.parse_tolerant(text)
    assert str(raised.value) == complaint


def test_the_strict_reading_takes_neither_v_nor_short_versions() -> None:
    for text in ("v1.2.3", "1.2", " 1.2.3", "01.2.3", ""):
        with pytest.raises(semver.SemverError):
            semver.parse(text)


def test_normalizing_keeps_spaces_and_has_its_own_words() -> None:
    assert str(semver.parse_normalized("v1.2")) == "1.2.0"
    with pytest.raises(semver.SemverError, match='patch number "3 "'):
        semver.parse_normalized("1.2.3 ")
    with pytest.raises(semver.SemverError, match=r"^short version"):
        semver.parse_normalized("1-rc1")


@given(_versions, _versions)
def test_precedence_is_that_of_an_independent_package(one: SemanticVersion, two: SemanticVersion) -> None:
    assert one.compare(two) == independent_semver.Version.parse(str(one)).compare(str(two))


@given(_versions)
def test_strict_versions_are_read_as_by_an_independent_package(version: SemanticVersion) -> None:
    theirs = independent_semver.Version.parse(str(version))
    pre = ".".join(map(str, version.pre)) or None
    build = ".".join(version.build) or None
    assert theirs.to_tuple() == (version.major, version.minor, version.patch, pre, build)
