"""Sentences about a what-if: what each change does, and what it costs."""

from mockkube.whatif.results import VariantResult
from mockkube.whatif.whatif_text import describe_verdict, format_cost


def describe_variant(variant: VariantResult, baseline: VariantResult) -> str:
    """Return what a change does, and what it costs, in one sentence."""
    return f"**{variant.name}**: {describe_verdict(variant)}{_describe_cost(variant, baseline)}."


def _describe_cost(variant: VariantResult, baseline: VariantResult) -> str:
    difference = round(variant.last.cost_per_hour - baseline.last.cost_per_hour, 4)
    if not difference:
        return ""
    return f"; nodes cost {format_cost(abs(difference))} an hour {'more' if difference > 0 else 'less'}"
