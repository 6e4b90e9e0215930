"""Names of definitions, versions in order, formats."""

from typing import Any

import pytest

from mockkube.api.custom import formats
from mockkube.api.custom.naming import accept_names
from mockkube.api.custom.version_order import sort_by_preference

NOW = "2030-01-01T00:00:00Z"


def definition(plural: str, kind: str, **names: Any) -> dict[str, Any]:
    own = {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List", **names}
    return {"metadata": {"name": plural}, "spec": {"group": "g.io", "names": own}, "status": {}}


def conditions(obj: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return {one["type"]: (one["status"], one["reason"]) for one in obj["status"]["conditions"]}


def test_free_names_are_granted_and_the_definition_is_established() -> None:
    done = accept_names(definition("foos", "Foo", shortNames=["f"]), [], NOW)
    assert done["status"]["acceptedNames"]["shortNames"] == ["f"]
    assert conditions(done) == {
        "NamesAccepted": ("True", "NoConflicts"),
        "Established": ("True", "InitialNamesAccepted"),
    }
    assert accept_names(done, [], "2031-01-01T00:00:00Z") == done


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        pytest.param({"shortNames": ["f"]}, "ShortNamesConflict", id="a short name"),
        pytest.param({"singular": "foo"}, "SingularConflict", id="a singular"),
        pytest.param({"listKind": "FooList"}, "ListKindConflict", id="the kind of lists"),
    ],
)
def test_a_name_that_is_taken_keeps_a_definition_from_being_established(names: dict[str, Any], reason: str) -> None:
    first = accept_names(definition("foos", "Foo", shortNames=["f"]), [], NOW)
    second = accept_names(definition("bars", "Bar", **names), [first], NOW)
    assert conditions(second) == {"NamesAccepted": ("False", reason), "Established": ("False", "NotAccepted")}


def test_who_is_established_stays_so_when_a_later_name_is_taken() -> None:
    first = accept_names(definition("foos", "Foo", shortNames=["f"]), [], NOW)
    second = accept_names(definition("bars", "Bar"), [first], NOW)
    greedy = {**second, "spec": definition("bars", "Bar", shortNames=["f"])["spec"]}
    done = accept_names(greedy, [first], NOW)
    assert conditions(done)["Established"][0] == "True"
    assert "shortNames" not in done["status"]["acceptedNames"]


def test_stable_versions_come_first_then_the_greater() -> None:
    names = ["foo1", "v1alpha1", "v10", "v2", "v1beta2", "v11alpha2", "foo10", "v1beta1", "v11beta2", "v3beta1"]
    assert sort_by_preference(names) == [
        "v10", "v2", "v11beta2", "v3beta1", "v1beta2", "v1beta1", "v11alpha2", "v1alpha1", "foo1", "foo10",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("form", "good", "bad"),
    [
        pytest.param("date-time", "2030-01-01T00:00:00Z", "2030-01-01", id="date-time"),
        pytest.param("date", "2030-01-31", "2030-02-31", id="date"),
        pytest.param("duration", "1h30m", "soon", id="duration"),
        pytest.param("duration", "3 days", "3 years", id="duration in words"),
        pytest.param("ipv4", "10.0.0.1", "10.0.0", id="ipv4"),
        pytest.param("ipv6", "::1", "1", id="ipv6"),
        pytest.param("cidr", "10.0.0.0/8", "10.0.0.0", id="cidr"),
        pytest.param("uuid", "123e4567-e89b-12d3-a456-426614174000", "123", id="uuid"),
        pytest.param("email", "a@example.com", "a", id="email"),
        pytest.param("hostname", "example.com", "-example", id="hostname"),
        pytest.param("uri", "https://example.com/x", "x y", id="uri"),
        pytest.param("byte", "aGk=", "a", id="byte"),
        pytest.param("mac", "00:1A:2b:3c:4d:5e", "00:1A", id="mac"),
        pytest.param("k8s-short-name", "a-b", "A", id="short name"),
    ],
)
def test_a_format_tells_what_has_it(form: str, good: str, bad: str) -> None:
    assert formats.matches_format(form, good)
    assert not formats.matches_format(form, bad)
