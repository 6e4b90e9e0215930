"""Answer of a what-if: whether the cluster bears the changes, and what each one does."""

from mockkube.report.wording import count_noun
from mockkube.whatif.results import VariantResult, WhatIfResult
from mockkube.whatif.whatif_text import describe_verdict, format_cost


def describe_headline(result: WhatIfResult) -> str:
    """Return the answer in one sentence."""
    changes = result.variants[1:]
    bad = sum(not one.is_good for one in changes)
    if not bad:
        return f"The cluster bears {'the change' if len(changes) == 1 else f'all {len(changes)} changes'}."
    if bad == len(changes):
        return f"The cluster does not bear {'the change' if len(changes) == 1 else 'any of the changes'}."
    return f"The cluster does not bear {bad} of {count_noun(len(changes), 'change')}."


def describe_variant(variant: VariantResult, baseline: VariantResult) -> str:
    """Return what a change does, and what it costs, in one sentence."""
    return f"**{variant.name}**: {describe_verdict(variant)}{_describe_cost(variant, baseline)}."


def _describe_cost(variant: VariantResult, baseline: VariantResult) -> str:
    difference = round(variant.last.cost_per_hour - baseline.last.cost_per_hour, 4)
    if not difference:
        return ""
    return f"; nodes cost {format_cost(abs(difference))} an hour {'more' if difference > 0 else 'less'}"
