"""Windows options and host processes."""

import pytest

from mockkube.api.kinds.core.pod.containers.windows import validate_host_process, validate_windows_options

HOST = {"securityContext": {"windowsOptions": {"hostProcess": True}}}


@pytest.mark.parametrize(
    ("name", "says"),
    [
        pytest.param("DOMAIN\\user", [], id="with a domain"),
        pytest.param("NT AUTHORITY\\LocalService", [], id="built in"),
        pytest.param("", ["cannot be an empty string"], id="empty"),
        pytest.param("a\tb", ["cannot contain control characters"], id="tab"),
        pytest.param("a\\b\\c", ["cannot contain more than one backslash"], id="two backslashes"),
        pytest.param("\\u", ["'s Domain doesn't match the NetBios nor the DNS format"], id="empty domain"),
        pytest.param("d\\", ["'s User cannot be empty"], id="no user"),
        pytest.param("...", ["'s User cannot contain only periods or spaces"], id="dots"),
        pytest.param("a" * 105, ["'s User length must not be longer than 104 characters"], id="long"),
        pytest.param("a*", ["'s User cannot contain the following characters: \"/\\:;|=,+*?<>@[]"], id="star"),
    ],
)
def test_names_of_users(name, says):
    errors = validate_windows_options({"runAsUserName": name}, "w")
    assert [error.detail.replace("runAsUserName", "", 1).lstrip(" ") for error in errors] == says


def test_an_empty_credential_is_none():
    (error,) = validate_windows_options({"gmsaCredentialSpec": ""}, "w")
    assert str(error) == 'w.gmsaCredentialSpec: Invalid value: "": gmsaCredentialSpec cannot be an empty string'


def test_all_containers_of_a_pod_are_host_processes_or_none_is():
    spec = {"containers": [HOST, {}], "hostNetwork": True}
    (error,) = validate_host_process(spec, "spec")
    assert error.detail.startswith("If pod contains any hostProcess containers then all containers must be")


def test_host_processes_use_the_hosts_network():
    assert [error.field for error in validate_host_process({"containers": [HOST]}, "spec")] == ["spec.hostNetwork"]


def test_pod_and_container_agree_about_being_host_processes():
    own = {"securityContext": {"windowsOptions": {"hostProcess": False}}}
    (error,) = validate_host_process({"containers": [own], **HOST}, "spec")
    assert str(error) == (
        "spec.containers[0].securityContext.windowsOptions.hostProcess: Invalid value: false: "
        "pod hostProcess value must be identical if both are specified, was true"
    )
