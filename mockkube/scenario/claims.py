"""Claims of a document: what it states, where, and the outcome that a scenario shows."""

from typing import Annotated, Final, Literal, get_args

from mockkube.lazy_dataclasses import dataclass

ClaimOutcome = Literal["holds", "false", "harmful advice", "not stated", "not tried"]
CLAIM_OUTCOMES: Final[tuple[ClaimOutcome, ...]] = get_args(ClaimOutcome)
OUTCOME_MEANINGS: Final[dict[ClaimOutcome, str]] = {
    "holds": "what the document says happens",
    "false": "the statement of the document is wrong here: something else happens",
    "harmful advice": "the document can be followed, and following it breaks something",
    "not stated": "the document leaves the question open; the scenario answers it",
    "not tried": "not tested: it cannot be run on a simulated cluster",
}


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim of a document and its outcome."""

    # The words of the document; `[...]` marks omitted words.
    quote: str = ""
    # The document: a name or an address.
    source: str = ""
    # The heading above the quote.
    section: str = ""
    # The claim in plain words, where the quote alone is not clear.
    claim: str = ""
    # What the document leaves open; only with the outcome `not stated`.
    question: str = ""
    outcome: ClaimOutcome | None = None
    # What happens instead, the answer to the question, or why it was not tried.
    observed: str = ""

    @property
    def location(self) -> str:
        """Document and section."""
        return ", ".join(filter(None, (self.source, self.section)))


@dataclass(frozen=True, kw_only=True)
class FileClaim:
    """A claim in a scenario file: in the head of the file, or in the list `claims`."""

    quote: Annotated[str, "the words of the document, to the letter; [...] for words left out"] = ""
    source: Annotated[str, "the document the claim is from: a name, or an address"] = ""
    section: Annotated[str, "the heading above the quote"] = ""
    claim: Annotated[str, "the claim in plain words; needed if there is no quote"] = ""
    question: Annotated[str, "what the document leaves open, with the outcome 'not stated'"] = ""
    outcome: Annotated[ClaimOutcome | None, "what the scenario shows of the claim"] = None
    holds: Annotated[bool | None, "the older form of outcome: true for holds, false for false"] = None
    observed: Annotated[str, "what happens instead, what the answer is, or why it was not tried"] = ""

    def complaint(self) -> str | None:
        """Return an error of fields that exclude each other; None if there is none."""
        if not self.has_claim:
            return "nothing is claimed: give the claim, or a quote"
        if self.outcome is not None and self.holds is not None:
            return "outcome and holds say the same: leave holds out"
        if self.outcome is not None and self.outcome not in CLAIM_OUTCOMES:
            return f"outcome is none of {', '.join(CLAIM_OUTCOMES)}"
        if bool(self.question) != (self.outcome == "not stated"):
            return "question and 'outcome: not stated' belong together: give both, or neither"
        if self.outcome not in (None, "holds") and not self.observed:
            return f"'outcome: {self.outcome}' needs observed: {_OBSERVED_REMEDIES[self.outcome]}"
        return None

    @property
    def has_claim(self) -> bool:
        """True if there is a claim, a quote or a question."""
        return bool(self.claim or self.quote or self.question)

    @property
    def is_empty(self) -> bool:
        """True if no field of a claim is set, except perhaps the source that several claims share."""
        return not (self.section or self.outcome or self.observed or self.holds is not None)

    def to_claim(self, source: str = "") -> Claim:
        """Return the claim, with a default for its source."""
        older: dict[bool | None, ClaimOutcome | None] = {None: None, True: "holds", False: "false"}
        return Claim(
            quote=self.quote,
            source=self.source or source,
            section=self.section,
            claim=self.claim,
            question=self.question,
            outcome=self.outcome or older[self.holds],
            observed=self.observed,
        )


_OBSERVED_REMEDIES: Final[dict[str, str]] = {
    "false": "say what happens instead",
    "harmful advice": "say what it breaks",
    "not stated": "answer the question",
    "not tried": "say why it cannot be run on a simulated cluster",
}
