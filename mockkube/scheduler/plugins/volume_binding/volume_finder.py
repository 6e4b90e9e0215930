"""Find volumes for a pod's claims on one node.

upstream 1.36: pkg/scheduler/framework/plugins/volumebinding/binder.go (FindPodVolumes)
"""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.lazy_dataclasses import dataclass
from mockkube.matching.volumes import SELECTED_NODE, ClaimRequirements, CompiledVolume, SearchConditions, find_volume
from mockkube.scheduler.framework.node_info import NodeInfo
from mockkube.scheduler.plugins.volume_binding.claims import ClassifiedClaims
from mockkube.scheduler.plugins.volume_binding.provisioning import Provision, ProvisioningChecker, ProvisioningFailure
from mockkube.scheduler.plugins.volume_binding.volumes import CandidateVolumes, VolumeLister

NODE_AFFINITY_CONFLICT: Final = "node(s) didn't match PersistentVolume's node affinity"
NO_MATCHING_VOLUMES: Final = "node(s) didn't find available persistent volumes to bind"
NOT_ENOUGH_SPACE: Final = "node(s) did not have enough free storage"
VOLUME_NOT_FOUND: Final = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
_REASON_ORDER: Final = (NODE_AFFINITY_CONFLICT, NO_MATCHING_VOLUMES, NOT_ENOUGH_SPACE, VOLUME_NOT_FOUND)


@dataclass(frozen=True, slots=True)
class VolumeMatch:
    """Existing volume for a claim."""

    volume: CompiledVolume
    requirements: ClaimRequirements


@dataclass(frozen=True, slots=True)
class MatchResult:
    """Matches of some claims, and the claims without one."""

    matches: tuple[VolumeMatch, ...]
    unmatched: tuple[ClaimRequirements, ...]


@dataclass(frozen=True, slots=True)
class PodVolumes:
    """Volumes of a node for the pod's claims; with reasons, the node is rejected. `facts` explain them."""

    matches: tuple[VolumeMatch, ...] = ()
    provisions: tuple[Provision, ...] = ()
    reasons: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)


class VolumeFinder:
    """Finds volumes in the informers, with assumed objects taken into account."""

    def __init__(self, volumes: VolumeLister, provisioners: ProvisioningChecker, *, attributes_classes: bool) -> None:
        self._volumes, self._provisioners = volumes, provisioners
        self._attributes_classes = attributes_classes

    def find(self, claims: ClassifiedClaims, node: NodeInfo) -> PodVolumes:  # hot: per node
        """Return the volumes of a node; raise ValueError if a claim's class is invalid."""
        reasons: dict[str, Mapping[str, Any]] = {}
        reasons.update(self._check_bound_claims(claims.bound, node))
        pod_volumes = self._find_for_delayed_claims(claims, node, reasons) if claims.delayed else PodVolumes()
        if not reasons:
            return pod_volumes
        # Reasons are reported in upstream's order, whichever was found first.
        facts = {key: value for reason in _REASON_ORDER if reason in reasons for key, value in reasons[reason].items()}
        return PodVolumes(reasons=tuple(reason for reason in _REASON_ORDER if reason in reasons), facts=facts)

    def _check_bound_claims(self, claims: Sequence[ReadOnlyObject], node: NodeInfo) -> dict[str, Mapping[str, Any]]:
        for claim in claims:
            name, volume_name = _qualified_name(claim), claim["spec"]["volumeName"]
            volume = self._volumes.get(volume_name)
            if volume is None:
                return {VOLUME_NOT_FOUND: {"claim": name, "volume": volume_name}}
            if not self._volumes.fits(volume, node):
                affinity = volume.obj["spec"].get("nodeAffinity")
                return {NODE_AFFINITY_CONFLICT: {"claim": name, "volume": volume_name, "node_affinity": affinity}}
        return {}

    def _find_for_delayed_claims(
        self, claims: ClassifiedClaims, node: NodeInfo, problems: dict[str, Mapping[str, Any]]
    ) -> PodVolumes:
        """Match claims with volumes and plan to provision the rest; add errors to `problems`."""
        to_provision: list[ClaimRequirements] = []
        to_match: list[ClaimRequirements] = []
        for requirements in claims.delayed:
            selected = (requirements.obj["metadata"].get("annotations") or {}).get(SELECTED_NODE)
            # A claim with a selected node is being provisioned there since an earlier attempt: only that node is left
            # for it.
            if selected is None:
                to_match.append(requirements)
            elif selected == node.name:
                to_provision.append(requirements)
            else:
                problems[NO_MATCHING_VOLUMES] = {"claim": requirements.name, "selected_node": selected}
                return PodVolumes()
        matched = self._find_matching_volumes(to_match, claims.candidates, node)
        planned = self._provisioners.plan([*to_provision, *matched.unmatched], node)
        if isinstance(planned, ProvisioningFailure):
            reason = NOT_ENOUGH_SPACE if planned.lacks_capacity else NO_MATCHING_VOLUMES
            problems[reason] = {"claim": planned.requirements.name, "why": planned.reason}
            return PodVolumes()
        return PodVolumes(matched.matches, tuple(planned))

    def _find_matching_volumes(
        self, all_requirements: Sequence[ClaimRequirements], volumes: Mapping[str, CandidateVolumes], node: NodeInfo
    ) -> MatchResult:
        """Match each claim with a volume, smallest claim first."""
        terms = SearchConditions(labels=node.labels, delayed=True, attributes_classes=self._attributes_classes)
        matches: list[VolumeMatch] = []
        unmatched: list[ClaimRequirements] = []
        # upstream: smallest claim first, so that small claims get the smallest volumes.
        for requirements in sorted(all_requirements, key=lambda requirements: requirements.size):
            taken = {match.volume.name for match in matches}
            volume = find_volume(requirements, volumes[requirements.name].reachable_from(node.labels), terms, taken)
            if volume is None:
                unmatched.append(requirements)
            else:
                matches.append(VolumeMatch(volume, requirements))
        return MatchResult(tuple(matches), tuple(unmatched))


def _qualified_name(claim: ReadOnlyObject) -> str:
    return f"{claim['metadata']['namespace']}/{claim['metadata']['name']}"
