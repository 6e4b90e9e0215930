"""The answer of an exploration in one sentence, and the claims of documents that it refutes."""

from collections.abc import Iterator

from mockkube.explore.conclusions import changes_versions
from mockkube.explore.exploration import SafetyVerdict
from mockkube.explore.plans.plan import Direction
from mockkube.report.sentences.answer import Answer
from mockkube.report.sentences.order_rules import find_rule
from mockkube.report.wording import count_noun, join_words, spell_number

_DECIDED = (SafetyVerdict.SAFE, SafetyVerdict.UNSAFE)


def describe_answer(answer: Answer) -> str:
    """Return the answer for both directions, as a headline."""
    parts = [_describe_direction(answer, direction) for direction in Direction]
    return f"{'. '.join(f'To {part}' for part in parts)}."


def _describe_direction(answer: Answer, direction: Direction) -> str:
    verb = answer.words.verb(direction)
    subject = f"{'from ' if answer.words.is_upgrade else ''}{answer.words.subject}"
    what = f" {subject}" if direction is Direction.UP else ""
    return f"{verb}{what}: {_describe_orders(answer, direction)}"


def _describe_orders(answer: Answer, direction: Direction) -> str:
    plain, safe = answer.unprepared(direction), answer.safe(direction)
    if len(answer.untried(direction)) == len(plain):
        return "not tried, as nothing happened"
    if changes_versions(answer.plan):
        return _describe_supported(answer, direction)
    if not safe:
        return f"no order is safe{_describe_preparation(answer, direction)}"
    if len(safe) == len(plain):
        return "any order is safe"
    rule = answer.rule(direction)
    if not rule.exact:
        return f"{len(safe)} of {count_noun(len(plain), 'order')} are safe"
    return rule.strict_text or rule.text


def _describe_supported(answer: Answer, direction: Direction) -> str:
    """Describe the orders that the version skew policy supports."""
    plain = answer.unprepared(direction)
    good = [one for one in plain if answer.is_supported(direction, one.order)]
    if not good:
        return "the version skew policy supports no order"
    safe = [one for one in good if one.is_safe]
    if not safe:
        return f"no supported order is safe{_describe_preparation(answer, direction)}"
    rule = find_rule([one.order for one in safe], [one.order for one in plain])
    if rule.exact:
        return rule.strict_text or rule.text
    return f"{len(safe)} of the {count_noun(len(good), 'supported order')} are safe"


def _describe_preparation(answer: Answer, direction: Direction) -> str:
    if direction is Direction.UP:
        return ""
    return " unless the workloads are changed first" if any(one.is_safe for one in answer.prepared()) else ""


def find_tone(answer: Answer) -> str:
    """Return `good` if both directions have a safe order that is supported, `wait` if one has, else `bad`."""
    safe = [any(answer.is_supported(direction, one.order) for one in answer.safe(direction)) for direction in Direction]
    return "good" if all(safe) else "wait" if any(safe) else "bad"


def list_refuted_claims(answer: Answer) -> Iterator[str]:
    """Yield a sentence about documented orders that are not safe as claimed, and one about those that are."""
    judged = [(written, one) for written, one in answer.result.list_written() if one.verdict in _DECIDED]
    for claim, found in ((True, "safe"), (False, "harmful")):
        names = [f'"{written.name}"' for written, one in judged if written.claim is claim and one.is_safe is not claim]
        if names:
            which, are = ("One", "is") if len(names) == 1 else (spell_number(len(names)).capitalize(), "are")
            orders = f"[documented](#documented) order{'s' * (len(names) != 1)}"
            yield f"**{which} {orders} claimed to be {found} {are} not:** {join_words(names)}."


def describe_setting(answer: Answer) -> str:
    """Return which Kubernetes was simulated, and what changes."""
    plan = answer.plan
    version = "" if changes_versions(plan) else f"Kubernetes {plan.version}, "
    nodes, components = count_noun(len(plan.nodes), "node"), count_noun(len(plan.components), "component")
    return f"{version}{nodes}, {components} in {count_noun(answer.result.path_count, 'path')}"
