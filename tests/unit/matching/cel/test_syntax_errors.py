import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from mockkube_cel.issues import Source
from mockkube_cel.syntax.errors import describe_syntax_errors
from mockkube_cel.syntax.lexer import BadSyntax
from mockkube_cel.syntax.parser import Parser

from mockkube.matching.cel.tolerations import TAINT_ENVIRONMENT
from tests.unit.matching.cel import antlr_reference

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


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        pytest.param(
            "(" * 32,
            [
                f"1:33: Syntax error: mismatched input '<EOF>' expecting {_EXPRESSION}",
                "1:33: Syntax error: error recovery attempt limit exceeded: 30",
            ],
            id="recoveries",
        ),
        pytest.param(
            "1 + a b" + ", b" * 300,
            [
                "-1:0: error recovery token lookahead limit exceeded: 256",
                "1:7: Syntax error: mismatched input 'b' expecting <EOF>",
            ],
            id="tokens to skip",
        ),
        pytest.param(
            "f(let", ["1:3: reserved identifier: let", "1:6: Syntax error: missing ')' at '<EOF>'"], id="name"
        ),
        pytest.param(
            "[99999999999999999999",
            ["1:2: invalid int literal", "1:22: Syntax error: mismatched input '<EOF>' expecting {']', ','}"],
            id="number",
        ),
    ],
)
def test_the_limits_and_further_errors_are_those_of_go(text: str, messages: list[str]) -> None:
    assert _messages(text) == messages


_WORDS = "a b in true null 1 2u 1.5 'x' b'y' == != < && || [ ] { } ( ) . , - ! ? : + * / let `q` ; = & ' \" @ //"


@given(st.lists(st.sampled_from(_WORDS.split()), max_size=12), st.sampled_from(("", " ")))
@example(["-", "1", "a"], " ")
@example(["a", ".", "@", "=="], "")
def test_an_engine_that_antlr_generated_has_the_same_messages(words: list[str], separator: str) -> None:
    source = Source(separator.join(words))
    try:
        Parser(source.text, {}).parse()
    except BadSyntax:
        expected = antlr_reference.describe(source)
        assume(expected is not None)
        issues = describe_syntax_errors(source)
        assume(not any("reserved identifier" in issue.message for issue in issues))
        assert source.render(issues) == expected


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
