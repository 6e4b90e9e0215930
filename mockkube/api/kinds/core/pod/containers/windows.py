"""Validate Windows options of security contexts, and HostProcess pods."""

# upstream 1.36: pkg/apis/core/validation/validation.go, validateWindowsSecurityContextOptions

import re
from typing import Final

from mockkube.api import names
from mockkube.api.fields import FieldError, invalid
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.kinds.core.pod.containers.container_lists import containers_with_paths

_CREDENTIAL_SPEC_KIB_MAX: Final = 64
_USER_DOMAIN_LENGTH_MAX: Final = 256
_USER_NAME_LENGTH_MAX: Final = 104
_CONTROL_CHARACTERS: Final = re.compile(r"[\x00-\x1f\x7f]")
# The domain may be a NetBIOS name (up to 15 characters, no leading dot) or a DNS name.
_NET_BIOS: Final = re.compile(r'[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}')
_DNS_LABEL: Final = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_DNS_DOMAIN: Final = re.compile(rf"{_DNS_LABEL}(?:\.{_DNS_LABEL})*")
_FORBIDDEN_CHARACTERS: Final = re.compile(r'["/\\:;|=,+*?<>@\[\]]')
_DOTS_AND_SPACES: Final = re.compile(r"[. ]+")


def validate_windows_options(options: ReadOnlyObject, at: str) -> list[FieldError]:
    """Validate the Windows options of a pod or container."""
    errors: list[FieldError] = []
    if "gmsaCredentialSpecName" in options:
        name = options["gmsaCredentialSpecName"]
        errors += [invalid(f"{at}.gmsaCredentialSpecName", name, text) for text in names.check_dns_subdomain(name)]
    if "gmsaCredentialSpec" in options:
        errors += _validate_credential_spec(options["gmsaCredentialSpec"], f"{at}.gmsaCredentialSpec")
    if "runAsUserName" in options:
        name = options["runAsUserName"]
        errors += [invalid(f"{at}.runAsUserName", name, text) for text in _find_run_as_user_name_errors(name)]
    return errors


def _validate_credential_spec(credential: str, at: str) -> list[FieldError]:
    if not credential:
        return [invalid(at, credential, "gmsaCredentialSpec cannot be an empty string")]
    if names.byte_length(credential) > _CREDENTIAL_SPEC_KIB_MAX * 1024:
        return [invalid(at, credential, f"gmsaCredentialSpec size must be under {_CREDENTIAL_SPEC_KIB_MAX} KiB")]
    return []


def _find_run_as_user_name_errors(name: str) -> list[str]:
    if not name:
        return ["runAsUserName cannot be an empty string"]
    if _CONTROL_CHARACTERS.search(name):
        return ["runAsUserName cannot contain control characters"]
    # The domain, if any, is separated from the user by one backslash.
    if name.count("\\") > 1:
        return ["runAsUserName cannot contain more than one backslash"]
    domain, backslash, user = name.rpartition("\\")
    texts = []
    if names.byte_length(domain) >= _USER_DOMAIN_LENGTH_MAX:
        texts.append(f"runAsUserName's Domain length must be under {_USER_DOMAIN_LENGTH_MAX} characters")
    if backslash and not (_NET_BIOS.fullmatch(domain) or _DNS_DOMAIN.fullmatch(domain)):
        texts.append("runAsUserName's Domain doesn't match the NetBios nor the DNS format")
    return texts + _find_user_errors(user)


def _find_user_errors(user: str) -> list[str]:
    texts = []
    if not user:
        texts.append("runAsUserName's User cannot be empty")
    elif names.byte_length(user) > _USER_NAME_LENGTH_MAX:
        texts.append(f"runAsUserName's User length must not be longer than {_USER_NAME_LENGTH_MAX} characters")
    if _DOTS_AND_SPACES.fullmatch(user):
        texts.append("runAsUserName's User cannot contain only periods or spaces")
    if _FORBIDDEN_CHARACTERS.search(user):
        texts.append(r"""runAsUserName's User cannot contain the following characters: "/\:;|=,+*?<>@[]""")
    return texts


def validate_host_process(spec: ReadOnlyObject, at: str) -> list[FieldError]:
    """Validate HostProcess pods: all containers must be, and need the host's network."""
    pod_value = _host_process_of(spec)
    errors = []
    total = host_process_count = 0
    for container, path in containers_with_paths(spec, at):
        container_value = _host_process_of(container)
        # Upstream compares the values only if both are set: the pod's value is not a default that containers may
        # override.
        if None not in (pod_value, container_value) and pod_value != container_value:
            text = f"pod hostProcess value must be identical if both are specified, was {str(pod_value).lower()}"
            errors.append(invalid(f"{path}.securityContext.windowsOptions.hostProcess", container_value, text))
        total += 1
        host_process_count += bool(pod_value if container_value is None else container_value)
    if host_process_count and host_process_count != total:
        text = "If pod contains any hostProcess containers then all containers must be HostProcess containers"
        errors.append(invalid(at, "", text))
    if host_process_count and not spec.get("hostNetwork"):
        text = "hostNetwork must be true if pod contains any hostProcess containers"
        errors.append(invalid(f"{at}.hostNetwork", False, text))
    return errors


def _host_process_of(holder: ReadOnlyObject) -> bool | None:
    value: bool | None = holder.get("securityContext", {}).get("windowsOptions", {}).get("hostProcess")
    return value
