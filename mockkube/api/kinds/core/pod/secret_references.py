"""Find the secrets a pod refers to, and check that its service account lists them."""

from collections.abc import Iterator
from typing import Final

from mockkube.api.json_objects import ReadOnlyObject

_SECRET_NAME_FIELDS: Final = (("azureFile", "secretName"), ("secret", "secretName"))
_SECRET_REFERENCE_FIELDS: Final = (
    ("cephfs", "secretRef"),
    ("cinder", "secretRef"),
    ("flexVolume", "secretRef"),
    ("rbd", "secretRef"),
    ("scaleIO", "secretRef"),
    ("iscsi", "secretRef"),
    ("storageos", "secretRef"),
    ("csi", "nodePublishSecretRef"),
)


def visit_pod_secret_names(spec: ReadOnlyObject) -> Iterator[str]:
    """Yield the names of all secrets a pod refers to: pull secrets, environment, volumes."""
    # upstream 1.36: pkg/api/pod/util.go, VisitPodSecretNames
    for one in spec.get("imagePullSecrets") or ():
        yield one.get("name", "")
    for group in ("initContainers", "containers", "ephemeralContainers"):
        for container in spec.get(group) or ():
            yield from (name for _, name in _visit_environment(container))
    for volume in spec.get("volumes") or ():
        yield from _visit_volume(volume)


def _visit_volume(volume: ReadOnlyObject) -> Iterator[str]:
    for source, field in _SECRET_NAME_FIELDS:
        if (volume.get(source) or {}).get(field):
            yield volume[source][field]
    for source, field in _SECRET_REFERENCE_FIELDS:
        if (volume.get(source) or {}).get(field):
            yield volume[source][field].get("name", "")
    for projection in (volume.get("projected") or {}).get("sources") or ():
        if "secret" in projection:
            yield projection["secret"].get("name", "")


def _visit_environment(container: ReadOnlyObject) -> Iterator[tuple[str, str]]:
    """Yield the kind of each reference in the environment, for messages, and the secret's name."""
    for variable in container.get("env") or ():
        reference = (variable.get("valueFrom") or {}).get("secretKeyRef")
        if reference is not None:
            yield f"envVar {variable['name']}", reference.get("name", "")
    for source in container.get("envFrom") or ():
        if source.get("secretRef") is not None:
            yield "envFrom", source["secretRef"].get("name", "")


def find_disallowed_reference(spec: ReadOnlyObject, account: ReadOnlyObject, *, ephemeral: bool) -> str:
    """Return the message for the first secret that the account does not list; empty if all are.

    With `ephemeral` only the ephemeral containers are checked, the only ones an update can add.
    """
    # upstream 1.36: plugin/pkg/admission/serviceaccount/admission.go, limitSecretReferences
    name = account["metadata"]["name"]
    listed = {one.get("name", "") for one in account.get("secrets") or ()}
    if ephemeral:
        return _find_disallowed_in_containers(spec, "ephemeralContainers", "ephemeral container", listed, name)
    is_not_allowed = f"is not allowed because service account {name} does not reference that"
    # Upstream checks Secret volumes only: projected volumes and storage drivers are not limited.
    for volume in spec.get("volumes") or ():
        secret = volume.get("secret")
        if secret is not None and secret.get("secretName", "") not in listed:
            return f'volume with secret.secretName="{secret.get("secretName", "")}" {is_not_allowed} secret'
    message = _find_disallowed_in_containers(spec, "initContainers", "init container", listed, name)
    message = message or _find_disallowed_in_containers(spec, "containers", "container", listed, name)
    return message or _find_disallowed_pull_secret(spec, account, is_not_allowed)


def _find_disallowed_in_containers(spec: ReadOnlyObject, group: str, title: str, listed: set[str], account: str) -> str:
    for container in spec.get(group) or ():
        for how, secret in _visit_environment(container):
            if secret not in listed:
                return (
                    f'{title} {container["name"]} with {how} referencing secret.secretName="{secret}" is not allowed '
                    f"because service account {account} does not reference that secret"
                )
    return ""


def _find_disallowed_pull_secret(spec: ReadOnlyObject, account: ReadOnlyObject, refused: str) -> str:
    pulls = {one.get("name", "") for one in account.get("imagePullSecrets") or ()}
    for index, one in enumerate(spec.get("imagePullSecrets") or ()):
        if one.get("name", "") not in pulls:
            return f'imagePullSecrets[{index}].name="{one.get("name", "")}" {refused} imagePullSecret'
    return ""
