"""Warn about deprecated volume sources, fractional bytes and overlapping paths."""

# upstream 1.36: pkg/api/pod/warnings.go, warningsForOverlappingVirtualPaths

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from mockkube.api.fields import quoted
from mockkube.api.quantity import parse
from mockkube.api.strategy import Judge
from mockkube.api.types import ReadOnlyObject

# Bound on compared pairs of files, which are quadratic in the number of files: a volume with more than 1,400 files
# could otherwise block the server. Further warnings would not fit into the response headers anyway.
_COMPARISONS_MAX: Final = 1_000_000
_GONE: Final = {
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


def volume_warnings(volumes: Sequence[ReadOnlyObject], at: str, judge: Judge) -> Iterator[str]:
    """Warn about deprecated volume sources."""
    for i, volume in enumerate(volumes):
        for field in volume:
            if field in _GONE:
                yield from _source_warnings(field, volume, f"{at}[{i}]", judge)


def _source_warnings(field: str, volume: ReadOnlyObject, at: str, judge: Judge) -> Iterator[str]:
    if field == "ephemeral":
        spec = volume["ephemeral"].get("volumeClaimTemplate", {}).get("spec", {})
        yield from claim_spec_warnings(spec, f"{at}.ephemeral.volumeClaimTemplate.spec")
        return
    name, text = _GONE[field]
    if field == "gitRepo" and judge.caps.enabled("GitRepoVolumeDriver"):
        text = "deprecated in v1.11"
    yield f"{at}.{name}: {text}"


def claim_spec_warnings(spec: ReadOnlyObject, at: str) -> Iterator[str]:
    """Warn about fractional byte amounts in a claim."""
    for kind in ("requests", "limits"):
        amount = spec.get("resources", {}).get(kind, {}).get("storage")
        if amount is not None and parse(amount).milli() % 1000:
            here = f"{at}.resources.{kind}[storage]"
            yield f"{here}: fractional byte value {quoted(amount)} is invalid, must be an integer"


@dataclass(frozen=True, slots=True)
class _File:
    path: str
    source: str = ""

    def __str__(self) -> str:
        return f"{quoted(self.path)} ({self.source})" if self.source else quoted(self.path)


def overlap_warnings(volumes: Sequence[ReadOnlyObject]) -> Iterator[str]:
    """Warn about files of one volume that hide each other."""
    for volume in volumes:
        name = volume.get("name", "")
        for kind, described in (("configMap", "ConfigMap"), ("secret", "Secret")):
            if kind in volume:
                source = volume[kind].get("name" if kind == "configMap" else "secretName", "")
                files = _files(volume[kind])
                yield from _overlaps(name, f"{described} {quoted(source)}", files)
        if "downwardAPI" in volume:
            yield from _overlaps(name, "DownwardAPI", _files(volume["downwardAPI"]))
        if "projected" in volume:
            yield from _projected_overlaps(volume["projected"], name)


def _files(source: ReadOnlyObject, described: str = "") -> list[_File]:
    return [_File(item.get("path", ""), described) for item in source.get("items", ())]


def _overlaps(volume: str, described: str, files: Iterable[_File]) -> Iterator[str]:
    earlier: list[_File] = []
    compared = 0
    for file in files:
        compared += len(earlier)
        if compared > _COMPARISONS_MAX:
            return
        # With a slash appended to both, "a" hides "a/b" but not "ab".
        stripped = replace(file, path=file.path.rstrip("/"))
        for other in earlier:
            if _overlap(other, stripped):
                yield f"volume {quoted(volume)} ({described}): overlapping paths: {stripped} with {other}"
        earlier.append(stripped)


def _overlap(one: _File, other: _File) -> bool:
    if not one.path or not other.path:
        return False
    return f"{one.path}/".startswith(f"{other.path}/") or f"{other.path}/".startswith(f"{one.path}/")


def _projected_overlaps(projected: ReadOnlyObject, volume: str) -> Iterator[str]:
    files: list[_File] = []
    for source in projected.get("sources") or ():
        if not source:
            yield f"volume {quoted(volume)} (Projected) has no sources provided"
        files += _projected_files(source)
    yield from _overlaps(volume, "Projected", files)


def _projected_files(source: ReadOnlyObject) -> list[_File]:
    """Return the files of the first projection type that has any."""
    for kind, described in (("configMap", "ConfigMap"), ("secret", "Secret"), ("downwardAPI", "DownwardAPI")):
        if "items" in source.get(kind, ()):
            name = "" if kind == "downwardAPI" else f" {quoted(source[kind].get('name', ''))}"
            return _files(source[kind], f"{described}{name}")
    if "serviceAccountToken" in source:
        return [_File(source["serviceAccountToken"].get("path", ""), "ServiceAccountToken")]
    if "clusterTrustBundle" in source:
        bundle = source["clusterTrustBundle"]
        name = bundle.get("name", bundle.get("signerName", ""))
        return [_File(bundle.get("path", ""), f"ClusterTrustBundle {quoted(name)}")]
    certificate = source.get("podCertificate", {})
    kinds = {"certificateChainPath": "chain", "keyPath": "key", "credentialBundlePath": "credential bundle"}
    return [
        _File(certificate[field], f"PodCertificate {kind}") for field, kind in kinds.items() if field in certificate
    ]
