import pytest

from mockkube.matching.cel.tolerations import TAINT_ENVIRONMENT

_EXPRESSION = (
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
)


def _messages(text: str) -> list[str]:
    error = TAINT_ENVIRONMENT.compile(text).error or ""
    return [line.partition("<input>:")[2] for line in error.split("\n") if "ERROR: " in line]


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        pytest.param("", [f"1:0: Syntax error: mismatched input '<EOF>' expecting {_EXPRESSION}"], id="nothing"),
        pytest.param("a ==", [f"1:5: Syntax error: mismatched input '<EOF>' expecting {_EXPRESSION}"], id="half of it"),
        pytest.param("a b", ["1:3: Syntax error: extraneous input 'b' expecting <EOF>"], id="two of them"),
        pytest.param("(a", ["1:3: Syntax error: missing ')' at '<EOF>'"], id="an open bracket"),
        pytest.param("a ? b", ["1:6: Syntax error: mismatched input '<EOF>' expecting ':'"], id="half a choice"),
        pytest.param("a..b", ["1:3: Syntax error: no viable alternative at input '..'"], id="two dots"),
        pytest.param(
            "a.true", ["1:3: Syntax error: mismatched input 'true' expecting IDENTIFIER"], id="a reserved field"
        ),
        pytest.param(
            "a = b",
            [
                "1:3: Syntax error: token recognition error at: '= '",
                "1:5: Syntax error: extraneous input 'b' expecting <EOF>",
            ],
            id="no token",
        ),
        pytest.param(
            "{",
            [
                "1:2: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '}', '(', '.', ',', '-', '!', '?', "
                "'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
            ],
            id="an open brace",
        ),
    ],
)
def test_the_words_are_antlrs(text: str, messages: list[str]) -> None:
    assert _messages(text) == messages


def test_what_is_no_token_is_shown_as_it_stands() -> None:
    assert "token recognition error at: ''a\n'" in (TAINT_ENVIRONMENT.compile("'a\nb'").error or "")
    assert "token recognition error at: '\0'" in (TAINT_ENVIRONMENT.compile("\0").error or "")


def test_other_complaints_stand_beside_those_of_syntax() -> None:
    assert _messages("let x") == [
        "1:1: reserved identifier: let",
        "1:5: Syntax error: extraneous input 'x' expecting <EOF>",
    ]


def test_after_a_hundred_complaints_the_next_one_ends_it() -> None:
    assert (TAINT_ENVIRONMENT.compile("@" * 150 + "true").error or "").endswith("\n1 more errors were truncated")
    assert "truncated" not in (TAINT_ENVIRONMENT.compile("@" * 100 + "true").error or "")
