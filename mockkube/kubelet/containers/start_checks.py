"""Checks before a container is started: environment, mounts, user.

upstream 1.36: pkg/kubelet/kuberuntime/kuberuntime_container.go (startContainer), security_context.go
"""

from dataclasses import replace

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.shell.containers.container_start import ContainerStart
from mockkube.shell.programs.entrypoints import find_image


def find_config_error(pod: ReadOnlyObject, container: ReadOnlyObject, start: ContainerStart) -> str | None:
    """Return why a container cannot be configured (CreateContainerConfigError); None if it can."""
    if (error := _find_user_error(pod, container)) is not None:
        return error
    # Without references and sub-paths nothing can be missing, so most containers need no environment here.
    if not any(mount.get("subPath") or mount.get("subPathExpr") for mount in container.get("volumeMounts") or ()) and (
        not _has_references(container)
    ):
        return None
    from mockkube.shell.containers.environment import (  # loaded when needed
        ConfigError,
        build_environment,
        expand_sub_path,
    )
    from mockkube.shell.containers.volumes import VolumeError, VolumeSources, build_mounts, build_volumes

    try:
        variables = build_environment(pod, container, replace(start, began=None)).variables
        volumes = build_volumes(pod, VolumeSources(start.lookup, start.make_token))
        build_mounts(container, volumes, lambda text: expand_sub_path(text, variables))
    except (ConfigError, VolumeError) as error:
        return str(error)
    return None


def _has_references(container: ReadOnlyObject) -> bool:
    return bool(container.get("envFrom")) or any(one.get("valueFrom") for one in container.get("env") or ())


def _find_user_error(pod: ReadOnlyObject, container: ReadOnlyObject) -> str | None:
    """Return the error of a container that must not run as root, but does."""
    security = {**(pod["spec"].get("securityContext") or {}), **(container.get("securityContext") or {})}
    if not security.get("runAsNonRoot"):
        return None
    metadata, user = pod["metadata"], security.get("runAsUser")
    place = f'(pod: "{metadata["name"]}_{metadata["namespace"]}({metadata["uid"]})", container: {container["name"]})'
    if user == 0:
        return f"container's runAsUser breaks non-root policy {place}"
    # The user of most images is not known; only an image that is known to run as root is refused.
    image = find_image(container.get("image", ""))
    if user is None and image.uid == 0 and image.is_user_known:
        return f"container has runAsNonRoot and image will run as root {place}"
    return None
