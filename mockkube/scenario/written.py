"""Scenario files as they are written: our own, and chainsaw's tests."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final

from mockkube.scenario.claims import Claim, WrittenClaim
from mockkube.scenario.fields import Seconds, Tree
from mockkube.scenario.scenario import Order, Settling

API_VERSION: Final = "mockkube.dev/v1alpha1"
KIND: Final = "Scenario"
PLAN_KIND: Final = "RolloutPlan"
CHAINSAW: Final = "chainsaw.kyverno.io/v1alpha1"
CHAINSAW_KIND: Final = "Test"
DEFAULT_TIMEOUT: Final = Seconds(30.0)


@dataclass(frozen=True)
class Metadata:
    """What a file calls itself."""

    name: Annotated[str, "the name of the scenario"]
    labels: Annotated[Mapping[str, str], "labels, to choose by"] = field(default_factory=dict)
    annotations: Annotated[Mapping[str, str], "anything else"] = field(default_factory=dict)
    namespace: Annotated[str, "means nothing here"] = ""
    creation_timestamp: Annotated[Any, "means nothing here"] = None


@dataclass(frozen=True)
class Spec:
    """What is played."""

    steps: Annotated[tuple[Tree, ...], "steps, each a verb with its arguments, or a block with try, catch, finally"]
    description: Annotated[str, "what it is about"] = ""
    cluster: Annotated[Tree | None, "the cluster it begins with"] = None
    vars: Annotated[Mapping[str, Any], "names for values"] = field(default_factory=dict)
    matrix: Annotated[Mapping[str, tuple[Any, ...]], "values to be tried in every combination, by name"] = field(
        default_factory=dict
    )
    exclude: Annotated[tuple[Mapping[str, Any], ...], "combinations to leave out"] = ()
    seeds: Annotated[tuple[int, ...], "play it once for each of these"] = (0,)
    order: Annotated[Order, "who goes next when several can: the first, or whom the seed draws"] = "in-order"
    settling: Annotated[Settling, "when components work: after each step, or only when a step waits"] = (
        "after-each-step"
    )
    timeout: Annotated[Seconds, "how long a claim has to come true, in the time of the cluster"] = DEFAULT_TIMEOUT
    namespace: Annotated[str, "where objects are that do not say it"] = "default"
    catch: Annotated[tuple[Tree, ...], "steps to play when anything fails"] = ()
    skip: Annotated[str, "why it is not played"] = ""


@dataclass(frozen=True, kw_only=True)
class ScenarioFile(WrittenClaim):
    """A scenario: apiVersion mockkube.dev/v1alpha1, kind Scenario. Its head may be a claim, or hold a list of them."""

    api_version: Annotated[str, API_VERSION]
    kind: Annotated[str, KIND]
    metadata: Annotated[Metadata, "its name"]
    spec: Annotated[Spec, "what is played"]
    claims: Annotated[tuple[WrittenClaim, ...], "the claims it tries, if there are several"] = ()

    def complaint(self) -> str | None:
        """Return what is wrong between the fields of the head."""
        if self.claims and (self.claims_something or not self.empty):
            return "claims beside a claim in the head: put all of them into the list"
        if any(one.section and not one.source for one in self.read_claims()):
            return "section without source: say of which document"
        return None if self.empty and not self.claims_something else super().complaint()

    def read_claims(self) -> tuple[Claim, ...]:
        """Return the claims of the head or of the list, which share its source."""
        if self.claims:
            return tuple(one.to_claim(self.source) for one in self.claims)
        return (self.to_claim(),) if self.claims_something else ()


@dataclass(frozen=True)
class Binding:
    """A name for a value, in chainsaw's way."""

    name: Annotated[str, "the name"]
    value: Annotated[Any, "what it stands for"]


@dataclass(frozen=True)
class Timeouts:
    """How long chainsaw waits; the names of steps that wait for nothing here are taken, and mean nothing."""

    assert_: Annotated[Seconds, "for an assertion"] = DEFAULT_TIMEOUT
    delete: Annotated[Seconds, "for a deletion"] = DEFAULT_TIMEOUT
    error: Annotated[Seconds, "for an error to come true"] = DEFAULT_TIMEOUT
    apply: Annotated[Seconds | None, "means nothing here"] = None
    cleanup: Annotated[Seconds | None, "means nothing here"] = None
    exec: Annotated[Seconds | None, "means nothing here"] = None


@dataclass(frozen=True)
class ChainsawSpec:
    """What a chainsaw test plays."""

    steps: Annotated[tuple[Tree, ...], "blocks with try, catch, finally"]
    description: Annotated[str, "what it is about"] = ""
    fail_fast: Annotated[bool, "means nothing here"] = False
    timeouts: Annotated[Timeouts, "how long to wait"] = field(default_factory=Timeouts)
    bindings: Annotated[tuple[Binding, ...], "names for values"] = ()
    namespace: Annotated[str, "where objects are that do not say it; empty: one of its own"] = ""
    skip: Annotated[bool, "whether it is left out"] = False
    skip_delete: Annotated[bool, "means nothing here: the cluster ends with the test"] = False
    concurrent: Annotated[bool, "means nothing here: each test has its cluster"] = True
    template: Annotated[bool, "whether expressions in manifests are evaluated; they are"] = True
    catch: Annotated[tuple[Tree, ...], "steps to play when anything fails"] = ()
    cluster: Annotated[Any, "means nothing here"] = None
    clusters: Annotated[Any, "means nothing here"] = None
    scenarios: Annotated[tuple[Mapping[str, Any], ...], "bindings to be tried one after the other"] = ()


@dataclass(frozen=True)
class ChainsawFile:
    """A chainsaw test: apiVersion chainsaw.kyverno.io/v1alpha1, kind Test."""

    api_version: Annotated[str, CHAINSAW]
    kind: Annotated[str, CHAINSAW_KIND]
    metadata: Annotated[Metadata, "its name"]
    spec: Annotated[ChainsawSpec, "what is played"]
