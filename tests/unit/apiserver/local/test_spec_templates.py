"""Specs that are decoded once."""

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockkube.apiserver.local.spec_templates import TEMPLATES_MAX, SpecTemplates

MANAGED = [{"manager": "m", "fieldsV1": {"f:spec": {"f:a": {}}}}]
STATUS = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}


def pod(name: str, spec: Any, **metadata: Any) -> dict[str, Any]:
    return {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": name, **metadata}, "spec": spec, "status": STATUS}


def with_token(suffix: str, **spec: Any) -> dict[str, Any]:
    name = f"kube-api-access-{suffix}"
    mounts = [{"name": "data", "mountPath": "/data"}, {"name": name, "mountPath": "/var/run/secrets"}]
    containers = [{"name": "c", "volumeMounts": mounts}, {"name": "d", "args": ["x"]}]
    return {"volumes": [{"name": "data"}, {"name": name, "projected": {}}], "containers": containers, **spec}


def decode(templates: SpecTemplates, obj: dict[str, Any]) -> Any:
    return templates.decode(orjson.dumps(obj))


def decode_third(*objects: dict[str, Any]) -> Any:
    """Decode some objects, and return what the last one is decoded to."""
    templates = SpecTemplates()
    return [decode(templates, obj) for obj in objects][-1]


@pytest.mark.parametrize(
    "specs",
    [
        pytest.param([{"a": [1, 1.5, True, None, "é"]}] * 3, id="equal specs"),
        pytest.param([{"nodeName": f"n{n}", "a": 1} for n in range(3)], id="nodes"),
        pytest.param([with_token(f"abcd{n}") for n in range(3)], id="tokens"),
        pytest.param([with_token(f"abcd{n}", nodeName=f"n{n}", b=2) for n in range(3)], id="both"),
        pytest.param([with_token(f"abcd{n}", nodeName="kube-api-access-") for n in range(3)], id="an odd node"),
        pytest.param([{"nodeName": ""}, {"nodeName": ""}, {"nodeName": "n"}], id="no node first"),
        pytest.param([{"nodeName": "n"}, {"nodeName": "m"}, {"nodeName": ""}], id="no node last"),
    ],
)
def test_what_a_spec_has_of_its_own_is_filled_in(specs: list[Any]) -> None:
    objects = [pod(f"p{number}", spec, labels={"a": "b"}) for number, spec in enumerate(specs)]
    assert orjson.dumps(decode_third(*objects)) == orjson.dumps(objects[-1])


def test_managed_fields_are_left_out() -> None:
    objects = [pod(f"p{number}", {"a": 1}, managedFields=MANAGED) for number in range(3)]
    assert decode_third(*objects) == pod("p2", {"a": 1})


def test_what_is_equal_is_one() -> None:
    templates = SpecTemplates()
    for number in range(2):
        assert decode(templates, pod("p", with_token(f"abcd{number}", nodeName="n"))) is None
    one, other = (decode(templates, pod("p", with_token(f"xyz{n}", nodeName=f"n{n}"))) for n in range(2))
    assert one["spec"]["containers"][1] is other["spec"]["containers"][1]
    assert one["spec"]["volumes"][0] is other["spec"]["volumes"][0]
    assert one["spec"]["volumes"][1] != other["spec"]["volumes"][1]


def test_a_text_that_equals_the_prefix_of_the_token_stays() -> None:
    alike = [with_token("x", b="kube-api-access-x")] * 2
    assert decode_third(*(pod("p", spec) for spec in (*alike, with_token("x", b="kube-api-access-")))) is None


@pytest.mark.parametrize(
    "obj",
    [
        pytest.param({"kind": "ConfigMap", "metadata": {}, "data": {"a": "b"}}, id="no spec"),
        pytest.param({"kind": "A", "metadata": {}, "data": {"x": 1, "spec": {"a": 1}}, "status": {}}, id="inner spec"),
        pytest.param({"kind": "A", "metadata": {}, "spec": {"x": 1, "status": {"a": 1}}}, id="inner status"),
        pytest.param(
            {"metadata": {"name": "a", "managedFields": MANAGED}, "more": {"x": [1]}, "spec": {}, "status": {}},
            id="a field between metadata and spec",
        ),
        pytest.param(pod("p", {"nodeName": 'a"b'}), id="a quote"),
        pytest.param(pod("p", {"nodeName": "a\u0001b"}), id="an escaped character"),
        pytest.param(pod("p", {"b": {"nodeName": "a"}, "nodeName": "b"}), id="two nodes"),
    ],
)  # fmt: skip
def test_what_is_not_easily_split_is_left_to_others(obj: dict[str, Any]) -> None:
    assert decode_third(obj, obj, obj) is None


TEXTS = st.sampled_from(["", "a", "kube-api-access-", "kube-api-access-x", "kube-api-access-y", 'x"', ',"status":{'])
NAMES = st.sampled_from(["spec", "status", "nodeName", "name", "managedFields", "kube-api-access-x", "metadata"])
VALUES = st.recursive(
    TEXTS | st.integers(0, 1) | st.none() | st.booleans(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.fixed_dictionaries(
    {
        "kind": TEXTS,
        "metadata": st.dictionaries(NAMES.filter(lambda name: name != "managedFields"), VALUES, max_size=2),
    },
    optional={"more": VALUES, "spec": st.dictionaries(NAMES, VALUES, max_size=3), "status": VALUES, "other": VALUES},
)


@given(st.lists(OBJECTS, min_size=1, max_size=4))
def test_any_object_is_decoded_as_it_is_or_not_at_all(objects: list[dict[str, Any]]) -> None:
    templates = SpecTemplates()
    for _ in range(3):
        for obj in objects:
            decoded = decode(templates, obj)
            assert decoded is None or orjson.dumps(decoded) == orjson.dumps(obj)


def test_no_more_than_so_many_specs_are_known() -> None:
    templates = SpecTemplates()

    def learn(number: int) -> Any:
        return [decode(templates, pod("p", {"a": number})) for _ in range(3)][-1]

    for number in range(TEMPLATES_MAX + 1):
        assert learn(number) is not None
    assert decode(templates, pod("p", {"a": 0})) is None
