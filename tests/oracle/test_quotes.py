"""Quotes of `conformance/` against the documents they are from: every quote stands there, to the letter.

White space counts as one blank, since documents break their lines elsewhere. Nothing else is altered: marks of
Markdown are part of a quote, where the document has them. `[...]` stands for words that are left out.
"""

import os
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from mockkube.scenario.claims import Claim
from mockkube.scenario.runner.loading import find_files, load

_BESIDE: Final = Path(__file__).resolve().parents[3] / "shared" / "seeds"
_DOCUMENTS: Final = Path(os.environ.get("MOCKKUBE_DOCUMENTS", _BESIDE))
_SCENARIOS: Final = sorted(Path(__file__).parents[2].glob("conformance*"))
_FILES: Final = {
    "KEP-5500": "000_c950bea337aca153.txt",
    "KEP-5471": "001_350250661c14bd60.txt",
    "KEP-5721": "002_734c18292764cc88.txt",
    "Kubernetes v1.35: Extended Toleration Operators to Support Numeric Comparisons (Alpha)": (
        "003_27181e2e860ae21d.txt"
    ),
    "KEP-3094": "004_673dd9c171107e4b.txt",
}
_HEADING: Final = re.compile(r"#+ (.*)")

pytestmark = pytest.mark.skipif(
    not _DOCUMENTS.is_dir(), reason=f"no documents at {_DOCUMENTS}; MOCKKUBE_DOCUMENTS names the directory with them"
)


def _claims() -> Iterator[tuple[str, Claim]]:
    """Yield each claim with the scenario that tries it."""
    for path in find_files(_SCENARIOS):
        for scenario in load(path):
            yield from ((f"{path.parent.name}/{path.stem}", claim) for claim in scenario.claims)


CLAIMS: Final = list(_claims())
QUOTED: Final = [(where, claim) for where, claim in CLAIMS if claim.source in _FILES and claim.section]


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _sections(document: str) -> dict[str, list[str]]:
    """Return the texts of a document by the headings they stand under.

    In Markdown every heading begins a section. A document without Markdown does not mark its headings: there, the
    lines that claims name as sections are the headings.
    """
    lines = (_DOCUMENTS / _FILES[document]).read_text().splitlines()
    marked = any(line.startswith("## ") for line in lines)
    named = {_one_line(claim.section) for _, claim in QUOTED if claim.source == document}
    sections: dict[str, list[str]] = defaultdict(list)
    heading, body, in_code = "", [], False
    for line in lines:
        in_code ^= line.lstrip().startswith("```")
        found = _HEADING.fullmatch(line) if marked and not in_code else None
        if found is None and (marked or _one_line(line) not in named):
            body.append(line)
            continue
        sections[heading].append(_one_line("\n".join(body)))
        heading, body = _one_line(found.group(1) if found else line), []
    sections[heading].append(_one_line("\n".join(body)))
    return sections


def _stands_in(quote: str, text: str) -> bool:
    """Return whether all pieces of a quote follow one another in a text."""
    at = 0
    for piece in (_one_line(one) for one in quote.split("[...]")):
        at = text.find(piece, at)
        if at < 0:
            return False
        at += len(piece)
    return True


@pytest.mark.parametrize("document", _FILES)
def test_every_quote_stands_to_the_letter_under_the_heading_it_names(document: str) -> None:
    sections = _sections(document)
    wrong = [
        (where, claim.section, claim.quote)
        for where, claim in QUOTED
        if claim.source == document
        and not any(_stands_in(claim.quote, text) for text in sections.get(_one_line(claim.section), ()))
    ]
    assert wrong == []
    assert any(claim.source == document for _, claim in QUOTED)


def test_a_claim_is_from_one_of_the_documents_or_from_an_address() -> None:
    others = [(where, claim.source) for where, claim in CLAIMS if claim.source not in _FILES]
    assert [one for one in others if not one[1].startswith("https://")] == []


def test_a_quote_that_is_altered_by_a_letter_is_found_out() -> None:
    sections = _sections("KEP-5500")
    [text] = [text for text in sections["Upgrade"] if text]
    assert _stands_in("Enable the feature gate on kubelet first, then [...] finally kube-apiserver.", text)
    assert not _stands_in("Enable the feature gate on kubelets first", text)
    assert not _stands_in("finally kube-apiserver. [...] Enable the feature gate", text)
