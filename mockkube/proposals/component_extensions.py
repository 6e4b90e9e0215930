"""Extensions of a component of some version by proposals: schema, validation rules, operators, plugins.

Results are cached by version and trains, so that servers of one version share schemas, and rules can be compared by
identity. Validation asks for a gate whenever it uses a rule; matching rules are built for the gates of one component.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, partial
from typing import Any, Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.object_rules import NO_RULES, ObjectRules
from mockkube.api.schema import Schema
from mockkube.api.validation.extensions import (
    NO_EXTENSIONS,
    ValidationExtensions,
    reject_requirement_operator,
    reject_toleration_operator,
)
from mockkube.features.capabilities import Capabilities
from mockkube.features.trains import ReleaseTrain
from mockkube.features.versions import NEWEST, Version
from mockkube.matching import taints
from mockkube.matching.node_selectors import LabelOperator
from mockkube.matching.taints import TaintCheck, TaintRules, UnreadableValue
from mockkube.proposals import kep_5500
from mockkube.proposals.catalogue import TRAINS, all_proposals
from mockkube.proposals.loading import trains_for
from mockkube.proposals.proposal import Proposal, SchedulerPlugin

TOLERATION: Final = "io.k8s.api.core.v1.Toleration"
_CACHE_MAX: Final = 32


def proposals_known_to(version: Version, trains: tuple[ReleaseTrain, ...] = TRAINS) -> tuple[Proposal, ...]:
    """Return the proposals that a component of that version knows."""
    return tuple(proposal for proposal in all_proposals(trains) if proposal.is_known_to(version, trains))


def make_schema_overlays(
    version: Version, trains: tuple[ReleaseTrain, ...] = TRAINS
) -> Mapping[str, Mapping[str, Mapping[str, Any]]]:
    """Return the fields that proposals add to the published ones, by type."""
    overlays: dict[str, dict[str, Mapping[str, Any]]] = {}
    for proposal in proposals_known_to(version, trains):
        fields = [(TOLERATION, proposal.toleration_fields), *proposal.fields.items()]
        for definition, added in fields:
            if added:
                overlays.setdefault(definition, {}).update((name, one.schema) for name, one in added.items())
    return overlays


@lru_cache(_CACHE_MAX)
def make_schema(version: Version, trains: tuple[ReleaseTrain, ...] = TRAINS) -> Schema:
    """Return the schema of a version; one beyond the newest published has that one's, plus proposals."""
    # There are no published types beyond the newest release; what a later version adds comes from its proposals.
    return Schema(min(version, NEWEST), make_schema_overlays(version, trains))


@lru_cache(_CACHE_MAX)
def make_validation_extensions(version: Version, trains: tuple[ReleaseTrain, ...] = TRAINS) -> ValidationExtensions:
    """Return the extensions of tolerations and selectors for the validation of a server of that version."""
    proposals = proposals_known_to(version, trains)
    if not proposals:
        return NO_EXTENSIONS
    return ValidationExtensions(
        tolerations={
            name: op.to_operator_rule(one.gate, reject_toleration_operator)
            for one in proposals
            for name, op in one.tolerations.items()
        },
        toleration_fields={
            name: rule.to_field_rule(one.gate) for one in proposals for name, rule in one.toleration_fields.items()
        },
        node_selectors={
            name: op.to_operator_rule(one.gate, reject_requirement_operator)
            for one in proposals
            for name, op in one.node_selectors.items()
        },
        device_tolerations={
            name: op.to_operator_rule(one.gate, reject_toleration_operator)
            for one in proposals
            # Operators of devices may come with a later stage than the rest of the proposal.
            if one.is_known_to(version, trains, one.devices_since)
            for name, op in one.device_tolerations.items()
        },
    )


@lru_cache(_CACHE_MAX)
def make_object_rules(version: Version, trains: tuple[ReleaseTrain, ...] = TRAINS) -> ObjectRules:
    """Return the rules that proposals add to the validation of objects by a server of that version."""
    proposals = proposals_known_to(version, trains)
    fields = tuple(
        field.to_gated_field(definition, name, one.gate)
        for one in proposals
        for definition, added in one.fields.items()
        for name, field in added.items()
    )
    checks = tuple(check.to_gated_check(target, one.gate) for one in proposals for target, check in one.checks.items())
    return ObjectRules(make_schema(version, trains), fields, checks) if fields or checks else NO_RULES


def make_taint_rules(
    caps: Capabilities,
    expressions: Callable[[str], TaintCheck] | None = None,
    log: Callable[[str], None] | None = None,
) -> TaintRules:
    """Return the toleration rules of a component.

    `expressions` compiles CEL with the component's own cache, `log` writes the errors of its log.
    """
    proposals = _enabled_proposals(caps)
    operators = {name: operator.to_value_operator for one in proposals for name, operator in one.tolerations.items()}
    report = None if log is None else partial(_report, log)
    return TaintRules(operators, expressions if caps.enabled(kep_5500.GATE) else None, report)


def _report(log: Callable[[str], None], outcome: UnreadableValue, taint: ReadOnlyObject) -> None:
    log(taints.format_log_line(outcome, taint))


def make_selector_operators(caps: Capabilities) -> Mapping[str, LabelOperator]:
    """Return the operators that a component knows in node affinity beyond the released ones."""
    proposals = _enabled_proposals(caps)
    return {name: operator.test for one in proposals for name, operator in one.node_selectors.items()}


def make_device_taint_rules(caps: Capabilities) -> TaintRules:
    """Return the toleration rules for devices of a component."""
    trains = trains_for(caps)
    proposals = [
        one
        for one in proposals_known_to(caps.version, trains)
        if caps.enabled(one.gate) and one.is_known_to(caps.version, trains, one.devices_since)
    ]
    return TaintRules(
        {name: operator.to_value_operator for one in proposals for name, operator in one.device_tolerations.items()}
    )


def scheduler_plugins(caps: Capabilities) -> Iterator[tuple[SchedulerPlugin, bool]]:
    """Yield the plugins of the proposals that a scheduler knows, and whether their gates are on."""
    for proposal in proposals_known_to(caps.version, trains_for(caps)):
        for plugin in proposal.scheduler_plugins:
            yield plugin, caps.enabled(proposal.gate)


def _enabled_proposals(caps: Capabilities) -> list[Proposal]:
    """Return the proposals whose gate is on; a component has only the gates that its version knows."""
    return [proposal for proposal in all_proposals(trains_for(caps)) if caps.enabled(proposal.gate)]
