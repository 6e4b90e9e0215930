"""File formats of scenarios: our own and chainsaw's tests, as dataclasses."""

from collections.abc import Mapping
from dataclasses import field
from typing import Annotated, Any, Final

from mockkube.lazy_dataclasses import dataclass
from mockkube.scenario.claims import Claim, FileClaim
from mockkube.scenario.fields import Seconds, Tree
from mockkube.scenario.scenario import Order, Settling

API_VERSION: Final = "mockkube.dev/v1alpha1"
KIND: Final = "Scenario"
PLAN_KIND: Final = "RolloutPlan"
INTERLEAVING_PLAN_KIND: Final = "InterleavingPlan"
CHAINSAW: Final = "chainsaw.kyverno.io/v1alpha1"
CHAINSAW_KIND: Final = "Test"
DEFAULT_TIMEOUT: Final = Seconds(30.0)


@dataclass(frozen=True)
class ScenarioMetadata:
    """Metadata of a scenario file."""

    name: Annotated[str, "the name of the scenario"]
    labels: Annotated[Mapping[str, str], "labels, to choose by"] = field(default_factory=dict)
    annotations: Annotated[Mapping[str, str], "anything else"] = field(default_factory=dict)
    namespace: Annotated[str, "means nothing here"] = ""
    creation_timestamp: Annotated[Any, "means nothing here"] = None


@dataclass(frozen=True)
class ScenarioSpec:
    """Specification of a scenario."""

    steps: Annotated[tuple[Tree, ...], "steps, each a verb with its arguments, or a block with try, catch, finally"]
    description: Annotated[str, "what it is about"] = ""
    cluster: Annotated[Tree | None, "the cluster it begins with"] = None
    vars: Annotated[Mapping[str, Any], "names for values"] = field(default_factory=dict)
    matrix: Annotated[Mapping[str, tuple[Any, ...]], "values to be tried in every combination, by name"] = field(
        default_factory=dict
    )
    exclude: Annotated[tuple[Mapping[str, Any], ...], "combinations to leave out"] = ()
    seeds: Annotated[tuple[int, ...], "run it once for each of these"] = (0,)
    order: Annotated[Order, "which worker takes the next step: the first, or one that the seed picks"] = "in-order"
    settling: Annotated[Settling, "when components work: after each step, or only when a step waits"] = (
        "after-each-step"
    )
    timeout: Annotated[Seconds, "how long a claim has to come true, in the time of the cluster"] = DEFAULT_TIMEOUT
    namespace: Annotated[str, "where objects are that do not say it"] = "default"
    catch: Annotated[tuple[Tree, ...], "steps to run when anything fails"] = ()
    skip: Annotated[str, "why it is not run"] = ""


@dataclass(frozen=True, kw_only=True)
class ScenarioFile(FileClaim):
    """A scenario: apiVersion mockkube.dev/v1alpha1, kind Scenario. Its head may be a claim, or hold a list of them."""

    api_version: Annotated[str, API_VERSION]
    kind: Annotated[str, KIND]
    metadata: Annotated[ScenarioMetadata, "its name"]
    spec: Annotated[ScenarioSpec, "what is run"]
    claims: Annotated[tuple[FileClaim, ...], "the claims it tries, if there are several"] = ()

    def complaint(self) -> str | None:
        """Return an error of fields that exclude each other; None if there is none."""
        if self.claims and (self.has_claim or not self.is_empty):
            return "claims beside a claim in the head: put all of them into the list"
        if any(one.section and not one.source for one in self.list_claims()):
            return "section without source: say of which document"
        # The head of a file without a claim is no incomplete claim, so the checks of a claim do not apply.
        return None if self.is_empty and not self.has_claim else super().complaint()

    def list_claims(self) -> tuple[Claim, ...]:
        """Return the claims of the head or of the list, which share its source."""
        if self.claims:
            return tuple(one.to_claim(self.source) for one in self.claims)
        return (self.to_claim(),) if self.has_claim else ()


@dataclass(frozen=True)
class ChainsawBinding:
    """A variable, in chainsaw's notation."""

    name: Annotated[str, "the name"]
    value: Annotated[Any, "its value"]


@dataclass(frozen=True)
class ChainsawTimeouts:
    """Timeouts of chainsaw. Those of steps that never wait here are accepted and ignored."""

    assert_: Annotated[Seconds, "for an assertion"] = DEFAULT_TIMEOUT
    delete: Annotated[Seconds, "for a deletion"] = DEFAULT_TIMEOUT
    error: Annotated[Seconds, "for an error to come true"] = DEFAULT_TIMEOUT
    apply: Annotated[Seconds | None, "means nothing here"] = None
    cleanup: Annotated[Seconds | None, "means nothing here"] = None
    exec: Annotated[Seconds | None, "means nothing here"] = None


@dataclass(frozen=True)
class ChainsawSpec:
    """Specification of a chainsaw test."""

    steps: Annotated[tuple[Tree, ...], "blocks with try, catch, finally"]
    description: Annotated[str, "what it is about"] = ""
    fail_fast: Annotated[bool, "means nothing here"] = False
    timeouts: Annotated[ChainsawTimeouts, "how long to wait"] = field(default_factory=ChainsawTimeouts)
    bindings: Annotated[tuple[ChainsawBinding, ...], "names for values"] = ()
    namespace: Annotated[str, "where objects are that do not say it; empty: one of its own"] = ""
    skip: Annotated[bool, "whether it is left out"] = False
    skip_delete: Annotated[bool, "means nothing here: the cluster ends with the test"] = False
    concurrent: Annotated[bool, "means nothing here: each test has its cluster"] = True
    template: Annotated[bool, "whether expressions in manifests are evaluated; they are"] = True
    catch: Annotated[tuple[Tree, ...], "steps to run when anything fails"] = ()
    cluster: Annotated[Any, "means nothing here"] = None
    clusters: Annotated[Any, "means nothing here"] = None
    scenarios: Annotated[tuple[Mapping[str, Any], ...], "bindings to be tried one after the other"] = ()


@dataclass(frozen=True)
class ChainsawFile:
    """A chainsaw test: apiVersion chainsaw.kyverno.io/v1alpha1, kind Test."""

    api_version: Annotated[str, CHAINSAW]
    kind: Annotated[str, CHAINSAW_KIND]
    metadata: Annotated[ScenarioMetadata, "its name"]
    spec: Annotated[ChainsawSpec, "what is run"]
