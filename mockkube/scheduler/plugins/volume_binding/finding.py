"""Find volumes for a pod's claims on one node.

upstream 1.36: pkg/scheduler/framework/plugins/volumebinding/binder.go (FindPodVolumes)
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from mockkube.api.types import ReadOnlyObject
from mockkube.matching.volumes import SELECTED_NODE, ClaimRequirements, SearchConditions, Volume, find_volume
from mockkube.scheduler.framework.node_info import NodeInfo
from mockkube.scheduler.plugins.volume_binding.claims import ClassifiedClaims
from mockkube.scheduler.plugins.volume_binding.provisioning import Impossible, Provision, ProvisioningChecker
from mockkube.scheduler.plugins.volume_binding.volumes import CandidateVolumes, Volumes

ELSEWHERE: Final = "node(s) didn't match PersistentVolume's node affinity"
NO_MATCH: Final = "node(s) didn't find available persistent volumes to bind"
NO_STORAGE: Final = "node(s) did not have enough free storage"
NO_VOLUME: Final = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
_REASON_ORDER: Final = (ELSEWHERE, NO_MATCH, NO_STORAGE, NO_VOLUME)


@dataclass(frozen=True, slots=True)
class Match:
    """Existing volume for a claim."""

    volume: Volume
    wish: ClaimRequirements


@dataclass(frozen=True, slots=True)
class MatchResult:
    """Matches of some claims, and the claims without one."""

    matches: tuple[Match, ...]
    left: tuple[ClaimRequirements, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """Volumes of a node for the pod's claims; with reasons, the node is rejected. `facts` explain them."""

    matches: tuple[Match, ...] = ()
    provisions: tuple[Provision, ...] = ()
    reasons: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)


class VolumeFinder:
    """Finds volumes in the informers, with assumed objects taken into account."""

    def __init__(self, volumes: Volumes, provisioners: ProvisioningChecker, *, attributes_classes: bool) -> None:
        self._volumes, self._provisioners = volumes, provisioners
        self._attributes_classes = attributes_classes

    def find(self, claims: ClassifiedClaims, node: NodeInfo) -> Found:  # hot: per node
        """Return the volumes of a node; raise ValueError if a claim's class is invalid."""
        reasons: dict[str, Mapping[str, Any]] = {}
        reasons.update(self._check_bound_claims(claims.bound, node))
        pod_volumes = self._find_for_delayed_claims(claims, node, reasons) if claims.delayed else Found()
        if not reasons:
            return pod_volumes
        # Reasons are reported in upstream's order, whichever was found first.
        facts = {key: value for reason in _REASON_ORDER if reason in reasons for key, value in reasons[reason].items()}
        return Found(reasons=tuple(reason for reason in _REASON_ORDER if reason in reasons), facts=facts)

    def _check_bound_claims(self, claims: Sequence[ReadOnlyObject], node: NodeInfo) -> dict[str, Mapping[str, Any]]:
        for claim in claims:
            name, volume_name = _qualified_name(claim), claim["spec"]["volumeName"]
            volume = self._volumes.get(volume_name)
            if volume is None:
                return {NO_VOLUME: {"claim": name, "volume": volume_name}}
            if not self._volumes.fits(volume, node):
                affinity = volume.obj["spec"].get("nodeAffinity")
                return {ELSEWHERE: {"claim": name, "volume": volume_name, "node_affinity": affinity}}
        return {}

    def _find_for_delayed_claims(
        self, claims: ClassifiedClaims, node: NodeInfo, problems: dict[str, Mapping[str, Any]]
    ) -> Found:
        """Match claims with volumes and plan to provision the rest; add errors to `problems`."""
        to_provision: list[ClaimRequirements] = []
        to_match: list[ClaimRequirements] = []
        for requirements in claims.delayed:
            selected = (requirements.claim["metadata"].get("annotations") or {}).get(SELECTED_NODE)
            # A claim with a selected node is being provisioned there since an earlier attempt: only that node is left
            # for it.
            if selected is None:
                to_match.append(requirements)
            elif selected == node.name:
                to_provision.append(requirements)
            else:
                problems[NO_MATCH] = {"claim": requirements.name, "selected_node": selected}
                return Found()
        matched = self._find_matching_volumes(to_match, claims.volumes, node)
        planned = self._provisioners.plan([*to_provision, *matched.left], node)
        if isinstance(planned, Impossible):
            reason = NO_STORAGE if planned.lacks_capacity else NO_MATCH
            problems[reason] = {"claim": planned.wish.name, "why": planned.why}
            return Found()
        return Found(matched.matches, tuple(planned))

    def _find_matching_volumes(
        self, wishes: Sequence[ClaimRequirements], volumes: Mapping[str, CandidateVolumes], node: NodeInfo
    ) -> MatchResult:
        """Match each claim with a volume, smallest claim first."""
        terms = SearchConditions(labels=node.labels, delayed=True, attributes_classes=self._attributes_classes)
        matches: list[Match] = []
        unmatched: list[ClaimRequirements] = []
        # upstream: smallest claim first, so that small claims get the smallest volumes.
        for requirements in sorted(wishes, key=lambda requirements: requirements.size):
            taken = {match.volume.name for match in matches}
            volume = find_volume(requirements, volumes[requirements.name].of(node.labels), terms, taken)
            if volume is None:
                unmatched.append(requirements)
            else:
                matches.append(Match(volume, requirements))
        return MatchResult(tuple(matches), tuple(unmatched))


def _qualified_name(claim: ReadOnlyObject) -> str:
    return f"{claim['metadata']['namespace']}/{claim['metadata']['name']}"
