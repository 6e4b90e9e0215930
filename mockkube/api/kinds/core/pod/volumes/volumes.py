"""Validate the volumes of a pod."""

# upstream 1.36: pkg/apis/core/validation/validation.go, ValidateVolumes

from collections.abc import Sequence
from dataclasses import field
from functools import lru_cache
from typing import Final

from mockkube.api import names
from mockkube.api.fields import FieldError, duplicate, forbidden, invalid, quote, required
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.kinds.core.persistent_volume_claim_validation import ClaimValidationOptions, validate_claim_template
from mockkube.api.kinds.core.pod.containers.containers import validate_pull_policy
from mockkube.api.kinds.core.pod.volumes.projected import check_downward_api, validate_projected
from mockkube.api.kinds.core.pod.volumes.sources import (
    VolumeSource,
    check_aws,
    check_azure_disk,
    check_cinder,
    check_config_map,
    check_csi,
    check_fc,
    check_flex,
    check_flocker,
    check_gce,
    check_git_repo,
    check_host_path,
    check_iscsi,
    check_nfs,
    check_quobyte,
    check_secret,
    check_storage_os,
    find_iscsi_name_error,
    require_fields,
    validate_sources,
)
from mockkube.api.quantities.quantity import parse
from mockkube.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PodVolumeValidationOptions:
    """Validation options of volumes."""

    claims: ClaimValidationOptions = field(default_factory=ClaimValidationOptions)
    allow_any_token_path: bool = False
    # Whether an image volume may lack its reference.
    allow_empty_image: bool = False


@dataclass(frozen=True, slots=True)
class ValidatedVolumes:
    """Valid volumes by name, and the errors of the others."""

    by_name: dict[str, ReadOnlyObject]
    errors: list[FieldError]


_NO_VOLUMES: Final[Sequence[ReadOnlyObject]] = ()


def validate_volumes(
    spec: ReadOnlyObject, at: str, pod_name: str, options: PodVolumeValidationOptions
) -> ValidatedVolumes:
    """Validate volumes; `pod_name` is needed for the names of ephemeral claims."""
    volumes = spec.get("volumes", _NO_VOLUMES)
    result = ValidatedVolumes({}, [])
    if not volumes:
        return result
    created = {f"{pod_name}-{volume.get('name', '')}" for volume in volumes if pod_name and "ephemeral" in volume}
    for i, volume in enumerate(volumes):
        here, name = f"{at}[{i}]", volume.get("name", "")
        volume_errors = _validate_source(volume, here, pod_name, options)
        volume_errors += [invalid(f"{here}.name", name, text) for text in names.check_dns_label(name)] if name else []
        if not name:
            volume_errors.append(required(f"{here}.name"))
        if name in result.by_name:
            volume_errors.append(duplicate(f"{here}.name", name))
        if volume_errors:
            result.errors.extend(volume_errors)
        else:
            # Only valid volumes count: a mount of an invalid one is reported as not found, as upstream does.
            result.by_name[name] = volume
        claim = volume.get("persistentVolumeClaim", {}).get("claimName", "")
        if claim in created:
            text = "must not reference a PVC that gets created for an ephemeral volume"
            result.errors.append(invalid(f"{here}.persistentVolumeClaim.claimName", claim, text))
    return result


# hot: per volume
def _validate_source(
    volume: ReadOnlyObject, at: str, pod_name: str, options: PodVolumeValidationOptions
) -> list[FieldError]:
    sources = _sources_by_field(options)
    if len(volume) == 2 and "name" in volume:
        # The usual volume is a name and one source: look that up instead of asking for each kind.
        source = next((sources[name] for name in volume if name in sources), None)
        errors = [] if source is None else source.check(volume[source.field], f"{at}.{source.at or source.field}")
        if source is None:
            errors.append(required(at, "must specify a volume type"))
    else:
        errors = validate_sources(volume, sources.values(), at)
    if "iscsi" in volume and (text := find_iscsi_name_error(volume["iscsi"], volume.get("name", ""))):
        errors.append(invalid(f"{at}.name", volume.get("name", ""), text))
    if "ephemeral" in volume:
        errors += _validate_ephemeral_claim_name(volume, at, pod_name)
    return errors


def _validate_ephemeral_claim_name(volume: ReadOnlyObject, at: str, pod_name: str) -> list[FieldError]:
    name = volume.get("name", "")
    if not name or not pod_name:
        return []
    claim = f"{pod_name}-{name}"
    return [
        invalid(f"{at}.name", name, f"PVC name {quote(claim)}: {text}") for text in names.check_dns_subdomain(claim)
    ]


def _check_empty_dir(source: ReadOnlyObject, at: str) -> list[FieldError]:
    limit = source.get("sizeLimit")
    if limit is None or parse(limit).sign >= 0:
        return []
    return [forbidden(f"{at}.sizeLimit", "SizeLimit field must be a valid resource quantity")]


@lru_cache(maxsize=16)
def _sources_by_field(options: PodVolumeValidationOptions) -> dict[str, VolumeSource]:
    """Return the volume sources of pods by field, in the order they are checked."""

    def check_projected(source: ReadOnlyObject, at: str) -> list[FieldError]:
        return validate_projected(source, at, allow_any_token_path=options.allow_any_token_path)

    def check_ephemeral(source: ReadOnlyObject, at: str) -> list[FieldError]:
        template = source.get("volumeClaimTemplate")
        if template is None:
            return [required(f"{at}.volumeClaimTemplate")]
        return validate_claim_template(template, f"{at}.volumeClaimTemplate", options.claims)

    def check_image(source: ReadOnlyObject, at: str) -> list[FieldError]:
        missing = not options.allow_empty_image and not source.get("reference")
        errors = [required(f"{at}.reference")] if missing else []
        return errors + validate_pull_policy(source.get("pullPolicy"), f"{at}.pullPolicy")

    sources = (
        VolumeSource("emptyDir", _check_empty_dir),
        VolumeSource("hostPath", check_host_path),
        VolumeSource("gitRepo", check_git_repo),
        VolumeSource("gcePersistentDisk", check_gce, at="persistentDisk"),
        VolumeSource("awsElasticBlockStore", check_aws),
        VolumeSource("secret", check_secret),
        VolumeSource("nfs", check_nfs),
        VolumeSource("iscsi", check_iscsi),
        VolumeSource("glusterfs", require_fields("endpoints", "path")),
        VolumeSource("flocker", check_flocker),
        VolumeSource("persistentVolumeClaim", require_fields("claimName")),
        VolumeSource("rbd", require_fields("monitors", "image")),
        VolumeSource("cinder", check_cinder),
        VolumeSource("cephfs", require_fields("monitors"), second_at="cephFS"),
        VolumeSource("quobyte", check_quobyte),
        # The misspelled path is upstream's.
        VolumeSource("downwardAPI", check_downward_api, second_at="downwarAPI"),
        VolumeSource("fc", check_fc),
        VolumeSource("flexVolume", check_flex),
        VolumeSource("configMap", check_config_map),
        VolumeSource("azureFile", require_fields("secretName", "shareName")),
        VolumeSource("vsphereVolume", require_fields("volumePath")),
        VolumeSource("photonPersistentDisk", require_fields("pdID")),
        VolumeSource("portworxVolume", require_fields("volumeID")),
        VolumeSource("azureDisk", check_azure_disk),
        VolumeSource("storageos", check_storage_os),
        VolumeSource("projected", check_projected),
        VolumeSource("scaleIO", require_fields("gateway", "system", "volumeName")),
        VolumeSource("csi", check_csi),
        VolumeSource("ephemeral", check_ephemeral),
        VolumeSource("image", check_image),
    )
    return {source.field: source for source in sources}
