"""YAML with lines: what requests are made of has none."""

from mockkube.scenario.yaml_lines import copy_without_lines, read_text


def test_a_copy_for_a_request_is_plain() -> None:
    [document] = read_text("data: {list: [{k: v}]}", "a.yaml")
    copied = copy_without_lines(document)
    assert copied == document
    assert {type(copied), type(copied["data"]), type(copied["data"]["list"][0])} == {dict}
    assert type(copied["data"]["list"]) is list
    copied["data"]["list"].clear()
    assert document["data"]["list"] == [{"k": "v"}], "it shares nothing"
