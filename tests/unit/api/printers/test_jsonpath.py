from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockkube.api.printers.jsonpath import PathError, compile_path

OBJ = {
    "spec": {"size": 3, "tags": ["a", "b", "c"], "none": None},
    "status": {
        "conditions": [
            {"type": "Ready", "status": "True", "n": 1},
            {"type": "Stale", "status": "False", "n": 2, "note": "a) b"},
        ],
        "x.y/z": {"deep": 7},
    },
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        pytest.param(".spec.size", [3], id="field"),
        pytest.param("spec", None, id="a word"),
        pytest.param(".spec.none", [None], id="null"),
        pytest.param(".spec.none.more", [], id="below null"),
        pytest.param(".spec.size.more", [], id="below a number"),
        pytest.param(".gone[0].more", [], id="missing"),
        pytest.param(".", [], id="only a dot"),
        pytest.param(r".status.x\.y/z.deep", [7], id="escaped dot"),
        pytest.param(r".status['x\.y/z'].deep", [7], id="key in brackets"),
        pytest.param(".spec.tags[0]", ["a"], id="index"),
        pytest.param(".spec.tags[-1]", ["c"], id="last"),
        pytest.param(".spec.tags[-2]", ["b"], id="last but one"),
        pytest.param(".spec.tags[1:]", ["b", "c"], id="slice to the end"),
        pytest.param(".spec.tags[:2]", ["a", "b"], id="slice from the start"),
        pytest.param(".spec.tags[:-1]", ["a", "b"], id="slice up to the last"),
        pytest.param(".spec.tags[::2]", ["a", "c"], id="every other"),
        pytest.param(".spec.tags[1:1]", [], id="empty slice"),
        pytest.param(".spec.tags[*]", ["a", "b", "c"], id="all items"),
        pytest.param(".spec.tags[]", ["a"], id="empty brackets"),
        pytest.param(".spec.tags[0,2]", ["a", "c"], id="union"),
        pytest.param(".spec.*", [None, 3, ["a", "b", "c"]], id="all fields"),
        pytest.param("..type", ["Ready", "Stale"], id="anywhere below"),
        pytest.param(".spec.tags[3]", None, id="index beyond the end"),
        pytest.param(".spec.tags[2:1]", None, id="slice backwards"),
        pytest.param(".spec.tags[::0]", None, id="no stride"),
        pytest.param(".spec.size[0]", None, id="index of a number"),
    ],
)
def test_paths_lead_to_values(path: str, found: list[object] | None) -> None:
    if found is None:
        with pytest.raises(PathError):
            compile_path(path).find(OBJ)
    else:
        assert compile_path(path).find(OBJ) == found


@pytest.mark.parametrize(
    ("test", "found"),
    [
        pytest.param('@.type=="Ready"', ["Ready"], id="equal"),
        pytest.param("@.type!='Ready'", ["Stale"], id="unequal"),
        pytest.param('@.type == "Stale"', ["Stale"], id="with spaces"),
        pytest.param('@.note=="a) b"', ["Stale"], id="a bracket in quotes"),
        pytest.param("@.n>1", ["Stale"], id="greater"),
        pytest.param("@.n<=1", ["Ready"], id="at most"),
        pytest.param("@.n<-1", [], id="a negative number"),
        pytest.param("@.note", ["Stale"], id="present"),
        pytest.param("@.gone==1", [], id="missing"),
        pytest.param("@.n==1.0", None, id="another kind of number"),
        pytest.param('@.n=="1"', None, id="another type"),
        pytest.param("@.n==true", None, id="a truth value"),
    ],
)
def test_filters_pick_items(test: str, found: list[str] | None) -> None:
    path = f".status.conditions[?({test})].type"
    if found is None:
        with pytest.raises(PathError):
            compile_path(path).find(OBJ)
    else:
        assert compile_path(path).find(OBJ) == found


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(".a[", id="open bracket"),
        pytest.param(".a[x]", id="a word for an index"),
        pytest.param(".a[-]", id="a dash for an index"),
        pytest.param(".a[?(@.b]", id="open filter"),
        pytest.param(".a[?(@.b)", id="filter in an open bracket"),
        pytest.param(".a 'b", id="open quote"),
        pytest.param("....a", id="descent from a descent"),
        pytest.param(".a +.", id="no number"),
        pytest.param(".a #", id="odd character"),
        pytest.param(".a]", id="closed bracket"),
    ],
)
def test_what_cannot_be_read_is_refused(path: str) -> None:
    with pytest.raises(PathError):
        compile_path(path)


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(".spec word", id="unknown word"),
        pytest.param(".status.conditions[?(@.n===1)]", id="unknown operator"),
        pytest.param(".status[?(@.n==1)]", id="filter of an object"),
    ],
)
def test_some_paths_are_only_found_out_when_followed(path: str) -> None:
    compiled = compile_path(path)
    with pytest.raises(PathError):
        compiled.find(OBJ)


@given(st.text(alphabet=".[]()?@*:,'\"\\ab01-+=<> {}$", max_size=12))
def test_any_text_is_a_path_or_is_refused(text: str) -> None:
    with suppress(PathError):
        assert isinstance(compile_path(text).find(OBJ), list)
