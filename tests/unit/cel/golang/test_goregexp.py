import pytest
from mockkube_cel.golang.goregexp import RegexError, compile_pattern, find_all


@pytest.mark.parametrize(
    ("pattern", "complaint"),
    [
        pytest.param("a**", "invalid nested repetition operator: `**`", id="a repetition repeated"),
        pytest.param("*a", "missing argument to repetition operator: `*`", id="nothing to repeat"),
        pytest.param("a|*", "missing argument to repetition operator: `*`", id="nothing to repeat in a branch"),
        pytest.param("a{1001}", "invalid repeat count: `{1001}`", id="too many times"),
        pytest.param("(a{1000}){2}", "invalid repeat count: `{2}`", id="too many times together"),
        pytest.param("a{2,1}", "invalid repeat count: `{2,1}`", id="bounds the wrong way round"),
        pytest.param("(a", "missing closing ): `(a`", id="an open group"),
        pytest.param("a)", "unexpected ): `a)`", id="a closed group"),
        pytest.param("[a", "missing closing ]: `[a`", id="an open class"),
        pytest.param("[b-a]", "invalid character class range: `b-a`", id="a range the wrong way round"),
        pytest.param("[[:foo:]]", "invalid character class range: `[:foo:]`", id="no such class"),
        pytest.param(r"\p{Foo}", r"invalid character class range: `\p{Foo}`", id="no such script"),
        pytest.param(r"\8", r"invalid escape sequence: `\8`", id="a back reference"),
        pytest.param(r"\C", r"invalid escape sequence: `\C`", id="a single byte"),
        pytest.param("\\", "trailing backslash at end of expression: ``", id="a backslash alone"),
        pytest.param("(?=a)", "invalid or unsupported Perl syntax: `(?=`", id="looking ahead"),
        pytest.param("(?P<a b>x)", "invalid named capture: `(?P<a b>`", id="a bad name"),
        pytest.param(
            "(" * 1001 + ")" * 1001, "expression nests too deeply: `" + "(" * 1001 + ")" * 1001 + "`", id="deep"
        ),
    ],
)
def test_a_bad_pattern_is_refused_in_gos_words(pattern: str, complaint: str) -> None:
    with pytest.raises(RegexError) as raised:
        compile_pattern(pattern)
    assert str(raised.value) == f"error parsing regexp: {complaint}"


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        pytest.param("^a$", "a\n", False, id="the end is the end"),
        pytest.param("(?m)^b$", "a\nb", True, id="lines on request"),
        pytest.param("a.b", "a\nb", False, id="a dot is no line end"),
        pytest.param(r"^\d$", "٣", False, id="digits are ASCII"),
        pytest.param("(?i)^ENV", "env", True, id="case on request"),
        pytest.param(r"^\Qa.b\E$", "aXb", False, id="quoted"),
        pytest.param("(?P<x>a)(?<x>b)", "ab", True, id="one name for two groups"),
        pytest.param("^a{,2}$", "a{,2}", True, id="braces that count nothing"),
        pytest.param(r"^[\]a-]+$", "]-a", True, id="a bracket in a class"),
        pytest.param(r"\x{1F600}", "😀", True, id="a character by number"),
        pytest.param(r"\pL\PL", "a1", True, id="letters"),
        pytest.param(r"^\p{greek}[\p{^Greek}]$", "αa", True, id="scripts in any case"),
        pytest.param(r"^\p{Lowercase_Letter}\P{Letter}$", "a1", True, id="categories by their long names"),
    ],
)
def test_a_pattern_matches_as_gos_does(pattern: str, text: str, found: bool) -> None:
    assert (compile_pattern(pattern).search(text) is not None) is found


def test_an_empty_match_behind_another_does_not_count() -> None:
    assert list(find_all("[0-9]*", "12 a", -1)) == ["12", "", ""]
    assert list(find_all("", "ab", -1)) == ["", "", ""]


def test_finding_stops_at_the_limit() -> None:
    assert list(find_all("a", "aaa", 2)) == ["a", "a"]
    assert list(find_all("a", "aaa", 0)) == []


def test_time_grows_with_the_text_only() -> None:
    assert compile_pattern("(a*)*b").search("a" * 5000) is None
