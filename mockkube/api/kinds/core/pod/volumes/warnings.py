"""Warn about deprecated volume sources, fractional bytes and overlapping paths."""

# upstream 1.36: pkg/api/pod/warnings.go, warningsForOverlappingVirtualPaths

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from mockkube.api.fields import quote
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.quantities.quantity import parse
from mockkube.api.strategy import StrategyContext
from mockkube.lazy_dataclasses import dataclass

# Bound on compared pairs of files, which are quadratic in the number of files: a volume with more than 1,400 files
# could otherwise block the server. Further warnings would not fit into the response headers anyway.
_COMPARISONS_MAX: Final = 1_000_000
_DEPRECATED_SOURCES: Final = {
    "photonPersistentDisk": ("photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    "gitRepo": ("gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"),
    "scaleIO": ("scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    "flocker": ("flocker", "deprecated in v1.22, non-functional in v1.25+"),
    "storageos": ("storageOS", "deprecated in v1.22, non-functional in v1.25+"),
    "quobyte": ("quobyte", "deprecated in v1.22, non-functional in v1.25+"),
    "glusterfs": ("glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    "ephemeral": ("ephemeral", ""),
    "cephfs": ("cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    "rbd": ("rbd", "deprecated in v1.28, non-functional in v1.31+"),
}


def volume_warnings(volumes: Sequence[ReadOnlyObject], at: str, context: StrategyContext) -> Iterator[str]:
    """Warn about deprecated volume sources."""
    for i, volume in enumerate(volumes):
        for field in volume:
            if field in _DEPRECATED_SOURCES:
                yield from _source_warnings(field, volume, f"{at}[{i}]", context)


def _source_warnings(field: str, volume: ReadOnlyObject, at: str, context: StrategyContext) -> Iterator[str]:
    if field == "ephemeral":
        spec = volume["ephemeral"].get("volumeClaimTemplate", {}).get("spec", {})
        yield from claim_spec_warnings(spec, f"{at}.ephemeral.volumeClaimTemplate.spec")
        return
    name, text = _DEPRECATED_SOURCES[field]
    if field == "gitRepo" and context.caps.enabled("GitRepoVolumeDriver"):
        text = "deprecated in v1.11"
    yield f"{at}.{name}: {text}"


def claim_spec_warnings(spec: ReadOnlyObject, at: str) -> Iterator[str]:
    """Warn about fractional byte amounts in a claim."""
    for kind in ("requests", "limits"):
        amount = spec.get("resources", {}).get(kind, {}).get("storage")
        if amount is not None and parse(amount).milli() % 1000:
            here = f"{at}.resources.{kind}[storage]"
            yield f"{here}: fractional byte value {quote(amount)} is invalid, must be an integer"


@dataclass(frozen=True, slots=True)
class _ProjectedFile:
    path: str
    source: str = ""

    def __str__(self) -> str:
        return f"{quote(self.path)} ({self.source})" if self.source else quote(self.path)


def overlap_warnings(volumes: Sequence[ReadOnlyObject]) -> Iterator[str]:
    """Warn about files of one volume that hide each other."""
    for volume in volumes:
        name = volume.get("name", "")
        for kind, described in (("configMap", "ConfigMap"), ("secret", "Secret")):
            if kind in volume:
                source = volume[kind].get("name" if kind == "configMap" else "secretName", "")
                files = _files_of(volume[kind])
                yield from _overlap_messages(name, f"{described} {quote(source)}", files)
        if "downwardAPI" in volume:
            yield from _overlap_messages(name, "DownwardAPI", _files_of(volume["downwardAPI"]))
        if "projected" in volume:
            yield from _projected_overlaps(volume["projected"], name)


def _files_of(source: ReadOnlyObject, described: str = "") -> list[_ProjectedFile]:
    return [_ProjectedFile(item.get("path", ""), described) for item in source.get("items", ())]


def _overlap_messages(volume: str, described: str, files: Iterable[_ProjectedFile]) -> Iterator[str]:
    earlier: list[_ProjectedFile] = []
    compared = 0
    for file in files:
        compared += len(earlier)
        if compared > _COMPARISONS_MAX:
            return
        # With a slash appended to both, "a" hides "a/b" but not "ab".
        stripped = replace(file, path=file.path.rstrip("/"))
        for other in earlier:
            if _do_overlap(other, stripped):
                yield f"volume {quote(volume)} ({described}): overlapping paths: {stripped} with {other}"
        earlier.append(stripped)


def _do_overlap(one: _ProjectedFile, other: _ProjectedFile) -> bool:
    if not one.path or not other.path:
        return False
    return f"{one.path}/".startswith(f"{other.path}/") or f"{other.path}/".startswith(f"{one.path}/")


def _projected_overlaps(projected: ReadOnlyObject, volume: str) -> Iterator[str]:
    files: list[_ProjectedFile] = []
    for source in projected.get("sources") or ():
        if not source:
            yield f"volume {quote(volume)} (Projected) has no sources provided"
        files += _projected_files(source)
    yield from _overlap_messages(volume, "Projected", files)


def _projected_files(source: ReadOnlyObject) -> list[_ProjectedFile]:
    """Return the files of the first projection type that has any."""
    for kind, described in (("configMap", "ConfigMap"), ("secret", "Secret"), ("downwardAPI", "DownwardAPI")):
        if "items" in source.get(kind, ()):
            name = "" if kind == "downwardAPI" else f" {quote(source[kind].get('name', ''))}"
            return _files_of(source[kind], f"{described}{name}")
    if "serviceAccountToken" in source:
        return [_ProjectedFile(source["serviceAccountToken"].get("path", ""), "ServiceAccountToken")]
    if "clusterTrustBundle" in source:
        bundle = source["clusterTrustBundle"]
        name = bundle.get("name", bundle.get("signerName", ""))
        return [_ProjectedFile(bundle.get("path", ""), f"ClusterTrustBundle {quote(name)}")]
    certificate = source.get("podCertificate", {})
    kinds = {"certificateChainPath": "chain", "keyPath": "key", "credentialBundlePath": "credential bundle"}
    return [
        _ProjectedFile(certificate[field], f"PodCertificate {kind}")
        for field, kind in kinds.items()
        if field in certificate
    ]
