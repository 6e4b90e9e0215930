"""The mutations: each breaks one rule of the four proposals, and some conformance scenario has to notice.

A mutation replaces a piece of source text that occurs once. When code moves or is renamed, the run says which pieces no
longer occur; put the new text here, nothing else. `caught_by` is a scenario that notices, the first that is played.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

NUMERIC: Final = "TaintTolerationComparisonOperators"
SEMVER: Final = "TaintTolerationNodeAffinitySemverComparisonOperators"
CEL: Final = "TaintTolerationCEL"


@dataclass(frozen=True)
class Mutation:
    """One change of the source."""

    name: str
    file: str
    """Where the text is, below the packages; a text that has moved to another file is found there."""
    text: str
    replacement: str
    caught_by: str
    """A scenario file in `conformance/`."""
    folders: tuple[str, ...]
    """The folders of `conformance/` that are about the broken rule."""
    tests: tuple[str, ...] = ()
    """Tests that are about it."""
    in_ci: bool = False
    """Whether it is one of the sample that runs in CI."""


P_5471: Final = ("kep-5471", "values", "skew")
P_5721: Final = ("kep-5721", "values", "skew")
P_5500: Final = ("kep-5500", "values", "skew", "performance")
P_3094: Final = ("kep-3094", "values")
EVERYWHERE: Final = ("kep-5471", "kep-5721", "kep-5500", "skew", "values")

_KEP_5471: Final = "mockkube/proposals/kep_5471.py"
_KEP_5721: Final = "mockkube/proposals/kep_5721.py"
_KEP_5500: Final = "mockkube/proposals/kep_5500.py"
_LENDING: Final = "mockkube/proposals/component_extensions.py"
_TAINTS: Final = "mockkube/matching/taints.py"
_SELECTORS: Final = "mockkube/matching/node_selectors.py"
_SEMVER: Final = "mockkube/matching/semver.py"
_EXPRESSIONS: Final = "mockkube/matching/cel/tolerations.py"
_SPREAD: Final = "mockkube/scheduler/plugins/pod_topology_spread/plugin.py"
_KEP_3094: Final = "mockkube/proposals/kep_3094.py"
_TOLERATION: Final = "mockkube/scheduler/plugins/taint_toleration.py"
_CORDON: Final = "mockkube/scheduler/plugins/node_unschedulable.py"
_EVICTION: Final = "mockkube/controllers/tainteviction/taint_eviction.py"
_PLACEMENT: Final = "mockkube/controllers/daemonset/placement.py"
_ADMISSION: Final = "mockkube/kubelet/admission/handlers.py"

_T_5471: Final = ("tests/unit/proposals/test_kep_5471.py", "tests/unit/matching/test_taints.py")
_T_5721: Final = ("tests/unit/proposals/test_kep_5721.py", "tests/unit/matching/test_taints.py")
_T_5500: Final = ("tests/unit/proposals/test_kep_5500.py", "tests/unit/matching")
_T_SEMVER: Final = ("tests/unit/matching/test_semver.py",)
_T_3094: Final = ("tests/unit/proposals/test_kep_3094.py", "tests/unit/scheduler/plugins/pod_topology_spread")
_T_SPREAD: Final = ("tests/unit/scheduler/plugins",)
_T_SELECTORS: Final = ("tests/unit/matching/test_node_selectors.py",)
_T_VALIDATION: Final = ("tests/unit/api/validation", "tests/unit/proposals")
_T_LENDING: Final = ("tests/unit/proposals/test_component_extensions.py",)

# KEP-5471: comparisons of integers
_NUMBERS: Final = (
    Mutation(
        "Gt also matches equal values", _KEP_5471, "parse_canonical, operator.gt", "parse_canonical, operator.ge",
        "values/V4-no-ge.yaml", P_5471, _T_5471, in_ci=True,
    ),
    Mutation(
        "Lt also matches equal values", _KEP_5471, "parse_canonical, operator.lt", "parse_canonical, operator.le",
        "values/V3-direction.yaml", P_5471, _T_5471,
    ),
    Mutation(
        "Gt asks whether the toleration's value is greater", _KEP_5471, "parse_canonical, operator.gt",
        "parse_canonical, operator.lt", "kep-5471/api-direction.yaml", P_5471, _T_5471,
    ),
    Mutation(
        "integers in other than canonical form are read", "mockkube/matching/integers.py",
        'raise NumberError(",".join(errors))', "return parse_int64(text)", "kep-5471/note-taint-values-are-free.yaml",
        P_5471,
        ("tests/unit/matching/test_integers.py", *_T_5471),
    ),
    Mutation(
        "the API server does not check values of Gt and Lt", _KEP_5471, "for text in integers.validate_integer(value)]",
        "for text in ()]", "kep-5471/note-decimal-values.yaml", P_5471, _T_5471, in_ci=True,
    ),
    Mutation(
        "devices are tolerated by number before the Beta stage", _KEP_5471, "devices_since=Maturity.BETA",
        "devices_since=Maturity.ALPHA", "kep-5471/story-4-dra-claim-released.yaml", P_5471, _T_5471,
    ),
)  # fmt: skip

# KEP-5721: comparisons of versions
_VERSIONS: Final = (
    Mutation(
        "SemverGt also matches equal versions", _KEP_5721, "parse_tolerant, operator.gt",
        "parse_tolerant, operator.ge", "kep-5721/story-1-release-candidate.yaml", P_5721, _T_5721,
    ),
    Mutation(
        "SemverLt asks whether the version is greater", _KEP_5721, "parse_tolerant, operator.lt",
        "parse_tolerant, operator.gt", "kep-5721/api-direction.yaml", P_5721, _T_5721,
    ),
    Mutation(
        "SemverEq compares texts", _KEP_5721, '"SemverEq": taints.make_comparison(semver.parse_tolerant,',
        '"SemverEq": taints.make_comparison(str,', "kep-5721/note-tolerant-parsing.yaml", P_5721, _T_5721,
    ),
    Mutation(
        "the API server does not check versions", _KEP_5721, "return [invalid(at, text, str(error))]", "return []",
        "kep-5721/invalid-toleration-value.yaml", P_5721, _T_5721, in_ci=True,
    ),
    Mutation(
        "semver operators of node affinity take several values", _KEP_5721, "errors = [] if len(values) == 1 else",
        "errors = [] if len(values) else", "kep-5721/note-single-value.yaml", P_5721, _T_5721,
    ),
    Mutation(
        "numbers in pre-releases are compared as texts: rc.10 before rc.2", _SEMVER,
        "(0, part) if isinstance(part, int) else (1, part) for part in self.pre",
        "(1, str(part)) for part in self.pre", "kep-5721/pre-release-numbers.yaml", P_5721, _T_SEMVER, in_ci=True,
    ),
    Mutation(
        "a pre-release is greater than its release", _SEMVER, "if self.pre else (1,)", "if self.pre else (-1,)",
        "kep-5721/story-1-release-candidate.yaml", P_5721, _T_SEMVER,
    ),
    Mutation(
        "build metadata counts in comparisons", _SEMVER, "(self.major, self.minor, self.patch, tail))",
        "(self.major, self.minor, self.patch, tail, self.build))", "kep-5721/build-metadata-is-ignored.yaml", P_5721,
        _T_SEMVER,
    ),
    Mutation(
        "a leading v is an error", _SEMVER, 'text.removeprefix("v").split(".", 2)', 'text.split(".", 2)',
        "kep-5721/note-tolerant-parsing.yaml", P_5721, _T_SEMVER,
    ),
    Mutation(
        "missing parts of versions are an error", _SEMVER, 'parts += ["0"] * (3 - len(parts))', "pass",
        "kep-5721/note-tolerant-parsing.yaml", P_5721, _T_SEMVER,
    ),
    Mutation(
        "a label that is no version matches", _SELECTORS, "        return outcome is True\n",
        "        return outcome is not False\n", "kep-5721/note-non-version-label.yaml", P_5721, _T_SELECTORS,
    ),
    Mutation(
        "labels that are no versions are not logged", _SELECTORS, "report(outcome, key)", "pass",
        "kep-5721/log-of-unreadable-values.yaml", P_5721, _T_SELECTORS,
    ),
    Mutation(
        "volumes are matched without semver operators", "mockkube/matching/volumes.py",
        'compile_terms(required.get("nodeSelectorTerms") or (), operators)',
        'compile_terms(required.get("nodeSelectorTerms") or (), {})', "kep-5721/story-4-volume.yaml", P_5721,
        ("tests/unit/matching/test_volumes.py",),
    ),
    Mutation(
        "the API server accepts semver operators of volumes with the gate off",
        "mockkube/api/kinds/core/persistent_volume_validation.py", "extensions.find_allowed_gates(caps, (), terms)",
        "frozenset(rule.gate for rule in extensions.node_selectors.values())",
        "kep-5721/alpha-restriction-volumes.yaml", P_5721, _T_VALIDATION,
    ),
    Mutation(
        "the API server accepts semver operators of node affinity with the gate off",
        "mockkube/api/validation/node_selector.py",
        "return (rule.check if rule.gate in rules.allowed else rule.refuse)(requirement, at)",
        "return rule.check(requirement, at)", "kep-5721/alpha-restriction-affinity.yaml", P_5721, _T_VALIDATION,
        in_ci=True,
    ),
    Mutation(
        "the other name of the gate is unknown", "mockkube/features/trains.py",
        'aliases=("TolerationAffinitySemverOperators",)', "aliases=()", "kep-5721/alias-of-the-gate.yaml", P_5721,
        ("tests/unit/features",),
    ),
    Mutation(
        "a component of 1.34 knows KEP-5721", "mockkube/features/trains.py",
        'aliases=("TolerationAffinitySemverOperators",),\n        stages=(GateStage(Version(1, 35)',
        'aliases=("TolerationAffinitySemverOperators",),\n        stages=(GateStage(Version(1, 34)',
        "kep-5721/rollback-updates-older-release.yaml", P_5721, ("tests/unit/features", *_T_LENDING),
    ),
)  # fmt: skip

# KEP-5500: expressions
_EXPRESSION: Final = (
    Mutation(
        "an expression may stand beside other fields", _KEP_5500,
        "if any(toleration.get(name) for name in _EXCLUDED) else []", "if False else []",
        "kep-5500/note-mutual-exclusivity.yaml", P_5500, _T_5500,
    ),
    Mutation(
        "expressions may have any length", _KEP_5500, "return [*errors, too_long(here, EXPRESSION_BYTES_MAX)]",
        "return errors", "kep-5500/validation-length.yaml", P_5500, _T_5500,
    ),
    Mutation(
        "the API server accepts expressions that do not compile", _KEP_5500,
        "return errors + validate_compiled(expression, compile_expression(expression), here)", "return errors",
        "kep-5500/validation-compilation.yaml", P_5500, _T_5500, in_ci=True,
    ),
    Mutation(
        "the API server accepts expressions of any estimated cost", _EXPRESSIONS,
        "if compiled.estimate.max > COST_MAX else []", "if False else []", "kep-5500/validation-cost.yaml", P_5500,
        _T_5500,
    ),
    Mutation(
        "an evaluation may cost anything", _EXPRESSIONS, '.evaluate({"taint": bound}, COST_MAX,',
        '.evaluate({"taint": bound}, 10**18,', "kep-5500/cost-limit-at-evaluation.yaml", P_5500, _T_5500, in_ci=True,
    ),
    Mutation(
        "the API server accepts expressions with the gate off", "mockkube/api/kinds/core/pod/tolerations.py",
        "check = field_rule.check if field_rule.gate in allowed else field_rule.refuse", "check = field_rule.check",
        "kep-5500/note-gate-off.yaml", P_5500, _T_VALIDATION,
    ),
    Mutation(
        "an expression that fails matches", _EXPRESSIONS,
        'return UnreadableValue("taint", text, value.message) if type(value) is CelError else value is True',
        "return True if type(value) is CelError else value is True", "values/V10-error-is-no-match.yaml", P_5500,
        _T_5500,
    ),
    Mutation(
        "expressions see no effect", _EXPRESSIONS, '"effect": taint.get("effect", "")}', '"effect": ""}',
        "kep-5500/note-variables.yaml", P_5500, _T_5500,
    ),
    Mutation(
        "compiled expressions are not kept", _EXPRESSIONS, "self._compiled[text] = compiled", "pass",
        "kep-5500/cache-is-used.yaml", P_5500, _T_5500,
    ),
    Mutation(
        "a component without expressions takes the rest of the toleration, which tolerates everything", _TAINTS,
        "if rules.expressions else _tolerate_nothing", "if rules.expressions else (lambda taint: True)",
        "kep-5500/downgrade-scheduler-gate-off.yaml", P_5500, _T_5500,
    ),
    Mutation(
        "an API server of 1.34 knows expressions", "mockkube/features/trains.py",
        'ReleaseTrain("TaintTolerationCEL", stages=(GateStage(Version(1, 35)',
        'ReleaseTrain("TaintTolerationCEL", stages=(GateStage(Version(1, 34)',
        "kep-5500/older-api-server-loses-field.yaml", P_5500, ("tests/unit/features", *_T_LENDING),
    ),
    Mutation(
        "a cordon is not opened by an expression", _CORDON,
        "toleration.tolerates(UNSCHEDULABLE_TAINT) for toleration in tolerations",
        "toleration.tolerates(UNSCHEDULABLE_TAINT) for toleration in tolerations "
        'if "expression" not in toleration.source',
        "values/V15-cordon-by-expression.yaml", P_5500, _T_SPREAD,
    ),
    Mutation(
        "the hint of the cordon ignores expressions", _CORDON, "return self._tolerates_cordon(PodInfo(event.new))",
        'tolerations = event.new["spec"].get("tolerations") or ()\n'
        '        plain = [one for one in tolerations if "expression" not in one]\n'
        '        spec = {**event.new["spec"], "tolerations": plain}\n'
        '        return self._tolerates_cordon(PodInfo({**event.new, "spec": spec}))',
        "kep-5500/cordon-hint.yaml", P_5500, _T_SPREAD, in_ci=True,
    ),
)  # fmt: skip

# KEP-3094: which nodes count for a spread constraint
_SPREADING: Final = (
    Mutation(
        "nodeAffinityPolicy Honor is ignored", _KEP_3094, "if self.honors_affinity and not", "if False and not",
        "kep-3094/affinity-honor.yaml", P_3094, _T_3094, in_ci=True,
    ),
    Mutation(
        "nodeTaintsPolicy Honor is ignored", _KEP_3094, "self.honors_taints and find_untolerated(",
        "False and find_untolerated(", "kep-3094/story-1.yaml", P_3094, _T_3094,
    ),
    Mutation(
        "nodeAffinityPolicy is Ignore by default", _KEP_3094, '"nodeAffinityPolicy", "Honor"',
        '"nodeAffinityPolicy", "Ignore"', "kep-3094/affinity-default.yaml", P_3094, _T_3094,
    ),
    Mutation(
        "nodeTaintsPolicy is Honor by default", _KEP_3094, '"nodeTaintsPolicy", "Ignore"',
        '"nodeTaintsPolicy", "Honor"', "kep-3094/upgrade-defaults.yaml", P_3094, _T_3094,
    ),
    Mutation(
        "scoring ignores the policies", _SPREAD, "constraints = self._constraints(pod, SCHEDULE_ANYWAY)",
        "from dataclasses import replace\n\n"
        "            found = self._constraints(pod, SCHEDULE_ANYWAY)\n"
        "            constraints = [replace(one, policies=type(one.policies)(False, False)) for one in found]",
        "kep-3094/scoring.yaml", P_3094, _T_3094, in_ci=True,
    ),
    Mutation(
        "the scheduler follows the policies with the gate off", _KEP_3094,
        "caps.enabled(GATE) or not", "True or not", "kep-3094/downgrade-ignored.yaml", P_3094, _T_3094,
    ),
    Mutation(
        "the API server keeps nodeTaintsPolicy with the gate off", "mockkube/api/kinds/core/pod/disabled_fields.py",
        '("NodeInclusionPolicyInPodTopologySpread", _constraints, ("nodeTaintsPolicy",)),', "",
        "kep-3094/gate-guards-both-policies.yaml", P_3094, _T_VALIDATION,
    ),
    Mutation(
        "the API server keeps nodeAffinityPolicy with the gate off", "mockkube/api/kinds/core/pod/disabled_fields.py",
        '("NodeInclusionPolicyInPodTopologySpread", _constraints, ("nodeAffinityPolicy",)),', "",
        "kep-3094/gate-guards-both-policies.yaml", P_3094, _T_VALIDATION,
    ),
    Mutation(
        "the API server accepts any policy", "mockkube/api/kinds/core/pod/topology_spread.py",
        "if name in constraint and constraint[name] not in NODE_POLICIES:", "if False:",
        "kep-3094/configuration-errors.yaml", P_3094, _T_VALIDATION,
    ),
)  # fmt: skip

# What the proposals share
_SHARED: Final = (
    Mutation(
        "the API server accepts operators with the gate off", "mockkube/api/kinds/core/pod/tolerations.py",
        "name: rule.check if rule.gate in allowed else rule.refuse for", "name: rule.check for",
        "kep-5471/alpha-restriction.yaml", EVERYWHERE, _T_VALIDATION, in_ci=True,
    ),
    Mutation(
        "a stored use does not allow the next", "mockkube/api/validation/extensions.py",
        "if gate in used or caps.enabled(gate)", "if caps.enabled(gate)", "kep-5471/rollback-updates.yaml", EVERYWHERE,
        _T_VALIDATION,
    ),
    Mutation(
        "an operator that a component does not know matches", _TAINTS, "    return lambda taint_value: False\n",
        "    return lambda taint_value: True\n", "kep-5471/scheduler-without-the-gate.yaml", EVERYWHERE, _T_5471,
    ),
    Mutation(
        "a taint value that cannot be read matches", _TAINTS,
        'return UnreadableValue("taint", taint_value, str(error), type_name)', "return True",
        "kep-5471/note-non-numeric-taint.yaml", EVERYWHERE, _T_5471,
    ),
    Mutation(
        "values that cannot be read are not logged", _TAINTS, "self.report(outcome, taint)", "pass",
        "kep-5471/log-of-unreadable-values.yaml", (*EVERYWHERE, "performance"), _T_5471, in_ci=True,
    ),
    Mutation(
        "tolerations of pods may be changed", "mockkube/api/kinds/core/pod/tolerations.py",
        "if _without_seconds(toleration) not in remaining:", "if False:", "values/V12-immutability.yaml", EVERYWHERE,
        _T_VALIDATION,
    ),
)  # fmt: skip

# The scheduler
_SCHEDULER: Final = (
    Mutation(
        "NoExecute taints keep no pods away", _TOLERATION, '= ("NoSchedule", "NoExecute")', '= ("NoSchedule",)',
        "kep-5471/blog-example-1.yaml", EVERYWHERE, _T_SPREAD,
    ),
    Mutation(
        "PreferNoSchedule counts although it is tolerated", _TOLERATION,
        "sum(1 for _ in iterate_untolerated(node.taints, tolerations, (_PREFER_NO_SCHEDULE,)))",
        'sum(taint.get("effect") == _PREFER_NO_SCHEDULE for taint in node.taints)',
        "kep-5471/note-prefer-no-schedule.yaml", EVERYWHERE, _T_SPREAD,
    ),
    Mutation(
        "a changed taint wakes no pod", _TOLERATION,
        "event.new is not None and find_untolerated(_taints(event.new), tolerations, DO_NOT_SCHEDULE_EFFECTS) is None",
        "event.old is None", "kep-5500/node-update-wakes-pod.yaml", EVERYWHERE, _T_SPREAD, in_ci=True,
    ),
    Mutation(
        "every changed taint wakes every pod", _TOLERATION,
        "event.new is not None and find_untolerated(_taints(event.new), tolerations, DO_NOT_SCHEDULE_EFFECTS) is None",
        "True", "performance/P8-queueing-hints.yaml", (*EVERYWHERE, "performance"), _T_SPREAD,
    ),
    Mutation(
        "an added toleration wakes no pod", _TOLERATION,
        "ClusterEventWithHint(EventResource.UNSCHEDULED_POD, ActionType.POD_TOLERATION, is_update_of),", "",
        "kep-5471/queueing-adding-a-toleration.yaml", EVERYWHERE, _T_SPREAD,
    ),
    Mutation(
        "the message of 1.33 does not name the taint", _TOLERATION, "< _NAMES_NO_TAINT_SINCE", "< Version(1, 0)",
        "kep-5471/event-message-1-33.yaml", EVERYWHERE, _T_SPREAD,
    ),
)  # fmt: skip

# Controllers
_CONTROLLERS: Final = (
    Mutation(
        "the longest toleration counts", _EVICTION, "seconds < shortest", "seconds > shortest",
        "kep-5500/shortest-toleration-seconds.yaml", EVERYWHERE, ("tests/scenario/controllers/test_taint_eviction.py",),
    ),
    Mutation(
        "pods that do not tolerate a NoExecute taint stay", _EVICTION, "if used is None:\n            return 0.0",
        "if used is None:\n            return None", "kep-5471/story-2-evicted-when-sla-drops.yaml", EVERYWHERE,
        ("tests/scenario/controllers/test_taint_eviction.py",),
    ),
    Mutation(
        "daemon pods stay under NoExecute taints they do not tolerate", _PLACEMENT,
        'self.tolerations, ("NoExecute",)) is None', "self.tolerations, ()) is not self",
        "kep-5500/daemon-set-template-edited.yaml", EVERYWHERE, ("tests/unit/controllers",),
    ),
)  # fmt: skip

# The kubelet
_KUBELET: Final = (
    Mutation(
        "the kubelet refuses for NoSchedule taints", _ADMISSION, 'present, compiled, ("NoExecute",)) is None',
        'present, compiled, ("NoExecute", "NoSchedule")) is None', "kep-5471/kubelet-ignores-no-schedule.yaml",
        EVERYWHERE, ("tests/unit/kubelet/admission/test_handlers.py",),
    ),
    Mutation(
        "the kubelet does not look at taints", _ADMISSION, 'present, compiled, ("NoExecute",)) is None',
        "present, compiled, ()) is not rules", "kep-5471/rollback-running-pods-kubelet.yaml", EVERYWHERE,
        ("tests/unit/kubelet/admission/test_handlers.py",), in_ci=True,
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Reader:
    """A place where a component reads gates into what it matches with."""

    component: str
    file: str
    text: str
    """The call; `CAPS` stands for the capabilities that it is given."""
    caps: str
    gates: dict[str, tuple[str, str]]
    """The gates it reads, each with a scenario that notices when it is on by mistake, and one for off."""


_READERS: Final = (
    Reader(
        "the scheduler", "mockkube/scheduler/scheduler.py",
        "make_taint_rules(CAPS, expressions.compile_expression", "caps",
        {
            NUMERIC: ("kep-5471/scheduler-without-the-gate.yaml", "kep-5471/upgrade-order.yaml"),
            SEMVER: ("kep-5721/scheduler-without-the-gate-tolerations.yaml", "kep-5721/upgrade-order.yaml"),
            CEL: ("kep-5500/downgrade-scheduler-gate-off.yaml", "kep-5500/story-1-key-prefix.yaml"),
        },
    ),
    Reader(
        "the scheduler, in node affinity", "mockkube/scheduler/scheduler.py",
        "            selector_operators=make_selector_operators(CAPS)", "self.caps",
        {SEMVER: ("kep-5721/scheduler-without-the-gate-affinity.yaml", "kep-5721/story-1-kubelet-version.yaml")},
    ),
    Reader(
        "the controller of daemon sets, in node affinity", "mockkube/controllers/daemonset/daemonset.py",
        "self._operators = make_selector_operators(CAPS)", "dependencies.capabilities",
        {SEMVER: ("kep-5721/daemon-set-affinity.yaml", "kep-5721/daemon-set-affinity.yaml")},
    ),
    Reader(
        "the kubelet", "mockkube/kubelet/kubelets.py", "CAPS, cache.compile_expression", "dependencies.capabilities",
        {
            NUMERIC: ("kep-5471/two-components-kubelet.yaml", "kep-5471/blog-example-1.yaml"),
            SEMVER: ("kep-5721/skew-kubelet.yaml", "kep-5721/rollback-running-pods.yaml"),
            CEL: ("kep-5500/rollback-7-kubelet.yaml", "kep-5500/note-toleration-seconds-allowed.yaml"),
        },
    ),
    Reader(
        "the kubelet, in node affinity", _ADMISSION,
        "            selector_operators=make_selector_operators(CAPS)", "caps",
        {SEMVER: ("kep-5721/rollback-running-affinity.yaml", "kep-5721/story-1-kubelet-version.yaml")},
    ),
)  # fmt: skip


@dataclass(frozen=True)
class ControllerReader:
    """A controller that matches tolerations: all read gates in one place, and are told apart by name."""

    controller: str
    gates: dict[str, tuple[str, str]]


_CONTROLLER_RULES: Final = "self.capabilities, cache.compile_expression"
_CONTROLLER_READERS: Final = (
    ControllerReader(
        "taint-eviction-controller",
        {
            NUMERIC: ("kep-5471/two-components-no-execute.yaml", "kep-5471/rollback-running-pods-no-execute.yaml"),
            SEMVER: ("kep-5721/two-components-no-execute.yaml", "kep-5721/rollback-running-pods.yaml"),
            CEL: ("kep-5500/rollback-5-taint-eviction.yaml", "kep-5500/taint-eviction-controller.yaml"),
        },
    ),
    ControllerReader(
        "daemonset-controller",
        {
            NUMERIC: ("skew/M2-gate-matrix-daemon-set.yaml", "skew/M2-gate-matrix-daemon-set.yaml"),
            SEMVER: ("kep-5721/two-components-daemon-set.yaml", "kep-5721/two-components-daemon-set.yaml"),
            CEL: ("kep-5500/rollback-6-daemon-set.yaml", "kep-5500/daemon-set-controller.yaml"),
        },
    ),
)


def _forced(caps: str, gate: str, *, on: bool) -> str:
    """Return an expression of the same capabilities with a gate on, or off, whatever was asked for."""
    return f"__import__('dataclasses').replace({caps}, gates={caps}.gates {'|' if on else '-'} {{'{gate}'}})"


_FOLDER: Final = {NUMERIC: P_5471, SEMVER: P_5721, CEL: P_5500}
_SHORT: Final = {NUMERIC: "KEP-5471", SEMVER: "KEP-5721", CEL: "KEP-5500"}


def _gate_mutations() -> Iterator[Mutation]:
    for reader in _READERS:
        for gate, scenarios in reader.gates.items():
            for on, scenario in zip((True, False), scenarios, strict=True):
                yield Mutation(
                    f"{reader.component} has the gate of {_SHORT[gate]} always {'on' if on else 'off'}",
                    reader.file,
                    reader.text.replace("CAPS", reader.caps),
                    reader.text.replace("CAPS", _forced(reader.caps, gate, on=on)),
                    scenario,
                    _FOLDER[gate],
                )
    for controller in _CONTROLLER_READERS:
        for gate, scenarios in controller.gates.items():
            for on, scenario in zip((True, False), scenarios, strict=True):
                caps = f"({_forced('self.capabilities', gate, on=on)}"
                caps += f' if controller == "{controller.controller}" else self.capabilities)'
                yield Mutation(
                    f"the {controller.controller} has the gate of {_SHORT[gate]} always {'on' if on else 'off'}",
                    "mockkube/controllers/framework/controller.py",
                    _CONTROLLER_RULES,
                    _CONTROLLER_RULES.replace("self.capabilities", caps),
                    scenario,
                    _FOLDER[gate],
                )


MUTATIONS: Final = (
    *_NUMBERS,
    *_VERSIONS,
    *_EXPRESSION,
    *_SPREADING,
    *_SHARED,
    *_SCHEDULER,
    *_CONTROLLERS,
    *_KUBELET,
    *_gate_mutations(),
)
