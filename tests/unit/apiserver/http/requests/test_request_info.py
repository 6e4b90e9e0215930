"""What a path and a method ask for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockkube.apiserver.http.requests.request_info import RequestInfo, parse_request_info

NS = "/api/v1/namespaces/lab"


@pytest.mark.parametrize(
    ("method", "path", "target"),
    [
        pytest.param("GET", "/api/v1/nodes", RequestInfo("list", "", "v1", "nodes"), id="a collection"),
        pytest.param("GET", "/api/v1/nodes/", RequestInfo("list", "", "v1", "nodes"), id="with a slash at its end"),
        pytest.param("GET", "/api/v1/nodes/n", RequestInfo("get", "", "v1", "nodes", "", "n"), id="an object"),
        pytest.param("HEAD", "/api/v1/nodes/n", RequestInfo("get", "", "v1", "nodes", "", "n"), id="its head"),
        pytest.param("POST", f"{NS}/pods", RequestInfo("create", "", "v1", "pods", "lab"), id="create"),
        pytest.param("PUT", f"{NS}/pods/p", RequestInfo("update", "", "v1", "pods", "lab", "p"), id="update"),
        pytest.param("PATCH", f"{NS}/pods/p", RequestInfo("patch", "", "v1", "pods", "lab", "p"), id="patch"),
        pytest.param("DELETE", f"{NS}/pods/p", RequestInfo("delete", "", "v1", "pods", "lab", "p"), id="delete"),
        pytest.param("DELETE", f"{NS}/pods", RequestInfo("deletecollection", "", "v1", "pods", "lab"), id="delete all"),
        pytest.param("OPTIONS", f"{NS}/pods", RequestInfo("", "", "v1", "pods", "lab"), id="no verb"),
        pytest.param(
            "GET", "/apis/apps/v1/deployments", RequestInfo("list", "apps", "v1", "deployments"), id="a group"
        ),
        pytest.param(
            "PUT",
            "/apis/apps/v1/namespaces/lab/deployments/d/scale",
            RequestInfo("update", "apps", "v1", "deployments", "lab", "d", "scale"),
            id="a subresource",
        ),
        pytest.param(
            "GET",
            f"{NS}/pods/p/proxy/a/b",
            RequestInfo("get", "", "v1", "pods", "lab", "p", "proxy", "a/b"),
            id="below a subresource",
        ),
        pytest.param("GET", NS, RequestInfo("get", "", "v1", "namespaces", "lab", "lab"), id="a namespace"),
        pytest.param(
            "PUT",
            f"{NS}/finalize",
            RequestInfo("update", "", "v1", "namespaces", "lab", "lab", "finalize"),
            id="a subresource of a namespace",
        ),
        pytest.param("GET", "/api/v1/namespaces", RequestInfo("list", "", "v1", "namespaces"), id="all namespaces"),
        pytest.param(
            "GET", f"{NS}//p", RequestInfo("get", "", "v1", "", "lab", "p", has_empty_segment=True), id="an empty part"
        ),
    ],
)
def test_a_path_below_a_version_names_a_resource(method: str, path: str, target: RequestInfo) -> None:
    assert parse_request_info(method, path) == target


@pytest.mark.parametrize(
    ("path", "name"),
    [
        pytest.param("/api/v1/watch/pods", "", id="a collection"),
        pytest.param("/api/v1/watch/namespaces/lab/pods/p", "p", id="an object"),
    ],
)
def test_the_paths_of_old_watches_are_known(path: str, name: str) -> None:
    target = parse_request_info("GET", path)
    assert target is not None
    assert (target.verb, target.watch, target.resource, target.name) == ("watch", True, "pods", name)


def test_a_list_that_is_to_watch_does() -> None:
    collection, one = (
        parse_request_info("GET", f"{NS}/pods", watch=True),
        parse_request_info("GET", f"{NS}/pods/p", watch=True),
    )
    assert collection is not None
    assert one is not None
    assert (collection.verb, collection.watch) == ("watch", True)
    assert (one.verb, one.watch) == ("get", False)


@pytest.mark.parametrize(
    "path", ["/", "/api", "/api/v1", "/apis", "/apis/apps", "/apis/apps/v1", "/version", "/api/v1/", "/openapi/v3/x/y"]
)
def test_other_paths_name_no_resource(path: str) -> None:
    assert parse_request_info("GET", path) is None


@given(
    st.sampled_from(("GET", "POST", "DELETE", "x", "")),
    st.lists(st.sampled_from(("api", "apis", "v1", "namespaces", "watch", "pods", "status", "a", "")), max_size=9),
    st.booleans(),
)
def test_any_path_is_read(method: str, parts: list[str], watch: bool) -> None:
    target = parse_request_info(method, "/" + "/".join(parts), watch=watch)
    assert target is None or parts[0] in ("api", "apis")


def test_the_asterisk_of_options_names_no_resource() -> None:
    assert parse_request_info("OPTIONS", "*") is None
