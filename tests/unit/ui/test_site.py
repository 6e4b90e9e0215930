"""Server of the page: who gets in, what a page of another site can do, whose rights count, what is shown."""

import json
import re
from typing import Any

import pytest

from mockkube.api.errors import ApiError
from mockkube.apiserver.identity.user import ALL_AUTHENTICATED, User
from mockkube.cluster.cluster import Cluster
from mockkube.ui.static_files import load_static_files
from tests.unit.ui.conftest import Browser

NODES = "/ui/api/api/v1/nodes"
COMPONENTS = "/ui/api/apis/control.mockkube.dev/v1alpha1/components"
PROTECTED = [
    ("GET", "/ui/stream"),
    ("GET", "/ui/session"),
    ("GET", "/ui/exploration"),
    ("PUT", "/ui/exploration"),
    ("GET", "/ui/revisions?resource=nodes&name=node-1"),
    ("POST", "/ui/logout"),
    ("GET", NODES),
    ("GET", f"{NODES}?watch=1"),
    ("POST", NODES),
    ("DELETE", f"{NODES}/node-1"),
]


@pytest.mark.parametrize(("method", "path"), PROTECTED)
async def test_nothing_is_shown_or_done_without_a_session(browser: Browser, method: str, path: str) -> None:
    assert (await browser.send(method, path)).status == 401


@pytest.mark.parametrize(("method", "path"), PROTECTED)
async def test_the_cookie_alone_is_no_session(browser: Browser, method: str, path: str) -> None:
    await browser.log_in()
    browser.key = ""
    assert (await browser.send(method, path)).status == 401


@pytest.mark.parametrize(("method", "path"), PROTECTED)
async def test_the_key_alone_is_no_session(browser: Browser, method: str, path: str) -> None:
    await browser.log_in()
    browser.session.cookie_jar.clear()
    assert (await browser.send(method, path)).status == 401


async def test_a_link_works_once(browser: Browser) -> None:
    assert (await browser.log_in()).status == 200
    assert (await browser.log_in()).status == 401


async def test_the_cookie_is_hidden_from_scripts_and_other_sites(browser: Browser) -> None:
    cookie = (await browser.log_in()).headers["Set-Cookie"]
    name, *attributes = cookie.split("; ")
    assert set(attributes) == {"HttpOnly", "Path=/ui/", "SameSite=Strict"}
    assert re.fullmatch(r"mockkube-ui-\d+=[0-9a-f]{64}", name)


async def test_the_code_is_neither_cookie_nor_key_nor_token(browser: Browser) -> None:
    code = browser.link.partition("#")[2]
    answer = await browser.log_in()
    assert code not in answer.headers["Set-Cookie"]
    assert code != browser.key
    browser.key, browser.headers = "", {"Authorization": f"Bearer {code}"}
    assert (await browser.send("GET", NODES)).status == 401


async def test_logging_out_ends_the_session(browser: Browser) -> None:
    await browser.log_in()
    assert (await browser.send("POST", "/ui/logout", {})).status == 200
    assert (await browser.send("GET", NODES)).status == 401


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({"Origin": "http://evil.example"}, id="origin of another site"),
        pytest.param({"Origin": "http://127.0.0.1:1"}, id="origin of another port"),
        pytest.param({"Origin": "null"}, id="sandboxed page"),
        pytest.param({"Sec_Fetch_Site": "cross-site"}, id="request that another site caused"),
        pytest.param({"Host": "evil.example"}, id="name that resolves to loopback"),
    ],
)
async def test_other_sites_get_nothing_even_with_everything_a_session_needs(
    browser: Browser, headers: dict[str, str]
) -> None:
    await browser.log_in()
    for method, path in [("GET", NODES), ("PATCH", f"{NODES}/node-1"), ("GET", "/ui/"), ("POST", "/ui/login")]:
        assert (await browser.send(method, path, None if method == "GET" else {}, **headers)).status == 403


async def test_no_other_site_may_send_the_key(browser: Browser) -> None:
    """A browser asks before it sends a header of its own to another origin; the answer allows nothing."""
    preflight = {"Access_Control_Request_Method": "GET", "Access_Control_Request_Headers": "mockkube-ui-key"}
    answer = await browser.send("OPTIONS", NODES, **preflight)
    assert answer.status >= 400
    assert not [name for name in answer.headers if name.startswith("Access-Control")]


@pytest.mark.parametrize("path", ["/ui/", "/ui/app.js", "/ui/app.css", "/ui/login", "/ui/stream", "/elsewhere"])
async def test_every_answer_has_a_strict_policy(browser: Browser, path: str) -> None:
    headers = (await browser.send("GET", path)).headers
    policy = dict(one.partition(" ")[::2] for one in headers["Content-Security-Policy"].split("; "))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert policy["frame-ancestors"] == policy["base-uri"] == policy["form-action"] == "'none'"
    assert "unsafe" not in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"


def test_the_page_fetches_nothing_from_elsewhere() -> None:
    for name in ("index.html", "app.css", "app.js"):
        text = load_static_files()[name].content.decode()
        # Names of XML namespaces are no addresses.
        found = set(re.findall(r"https?://[^\s\"'`)]+|\burl\(", text)) - {"http://www.w3.org/2000/svg"}
        assert {one for one in found if "www.w3.org" not in one} == set()
    assert "<script>" not in load_static_files()["index.html"].content.decode()


@pytest.mark.parametrize(
    "path",
    [
        "/ui/api/metrics",
        "/ui/api/openapi/v3",
        "/ui/api/api/v1/../../metrics",
        "/ui/api/api/v1/namespaces/default/pods/p/proxy/",
        "/ui/api/api/v1/namespaces/default/services/s/proxy",
        "/ui/nothing",
        "/metrics",
        "/api/v1/nodes",
    ],
)
async def test_a_page_reaches_only_what_it_needs(browser: Browser, path: str) -> None:
    await browser.log_in()
    # Not normalized by the client, which would remove the dots.
    assert (await browser.send("GET", path)).status in (401, 404)


async def test_the_api_answers_and_writes_as_it_does_to_kubectl(browser: Browser, cluster: tuple[Cluster, str]) -> None:
    await browser.log_in()
    names = [one["metadata"]["name"] for one in (await browser.send("GET", NODES)).json["items"]]
    assert names == ["node-1", "node-2"]
    patch = {"spec": {"unschedulable": True}}
    answer = await browser.send("PATCH", f"{NODES}/node-1", patch, Content_Type="application/merge-patch+json")
    assert answer.json["spec"]["unschedulable"] is True
    assert [one["manager"] for one in answer.json["metadata"]["managedFields"]][-1] == "mockkube-ui"
    bad = await browser.send(
        "PATCH", f"{COMPONENTS}/kubelet", {"spec": {"version": "9.9"}}, Content_Type="application/merge-patch+json"
    )
    assert bad.status == 422
    assert "spec.version" in bad.json["message"]


async def test_a_page_cannot_choose_another_user(browser: Browser) -> None:
    await browser.log_in()
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    path = "/ui/api/apis/authentication.k8s.io/v1/selfsubjectreviews"
    forged = {"Impersonate_User": "mallory", "Authorization": "Bearer x", "X_Remote_User": "mallory"}
    answer = await browser.send("POST", path, review, **forged)
    assert answer.json["status"]["userInfo"]["username"] == "kubernetes-admin"


async def test_everything_about_the_user_reaches_the_api(browser: Browser, cluster: tuple[Cluster, str]) -> None:
    extra = {"example.org/scopes": ("read only", "100 %"), "example.org/team": ("a",)}
    user = User("jane", "uid-1", ("developers", ALL_AUTHENTICATED), extra)
    await browser.log_in(await cluster[0].control_plane.user_interface.make_link(user))
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    answer = await browser.send("POST", "/ui/api/apis/authentication.k8s.io/v1/selfsubjectreviews", review)
    assert answer.json["status"]["userInfo"] == {
        "username": "jane",
        "uid": "uid-1",
        "groups": ["developers", ALL_AUTHENTICATED],
        "extra": {key: list(values) for key, values in extra.items()},
    }


async def test_the_rights_of_the_user_decide_what_is_shown_and_done(
    browser: Browser, cluster: tuple[Cluster, str]
) -> None:
    jane = User("jane", groups=("developers", ALL_AUTHENTICATED))
    await browser.log_in()
    meta: dict[str, Any] = {"metadata": {"name": "readers", "namespace": "team"}}
    rbac = "/ui/api/apis/rbac.authorization.k8s.io/v1/namespaces/team"
    for namespace in ("team", "other"):
        await browser.send("POST", "/ui/api/api/v1/namespaces", {"metadata": {"name": namespace}})
        account = {"metadata": {"name": "default"}}
        await browser.send("POST", f"/ui/api/api/v1/namespaces/{namespace}/serviceaccounts", account)
        pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        created = await browser.send("POST", f"/ui/api/api/v1/namespaces/{namespace}/pods", pod)
        assert created.status == 201, created.body
    await browser.send(
        "POST", f"{rbac}/roles", {**meta, "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]}
    )
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "readers"}
    subjects = [{"kind": "Group", "apiGroup": "rbac.authorization.k8s.io", "name": "developers"}]
    assert (
        await browser.send("POST", f"{rbac}/rolebindings", {**meta, "roleRef": role, "subjects": subjects})
    ).status == 201

    browser.session.cookie_jar.clear()
    await browser.log_in(await cluster[0].control_plane.user_interface.make_link(jane))
    assert (await browser.send("GET", NODES)).status == 403
    assert (await browser.send("GET", "/ui/api/api/v1/namespaces/team/pods")).status == 200
    assert (await browser.send("DELETE", "/ui/api/api/v1/namespaces/team/pods/p")).status == 403
    assert (await browser.send("GET", "/ui/revisions?resource=pods&namespace=team&name=p")).status == 403
    [state] = await browser.read_stream(1)
    assert [row[:3] for row in state["rows"]] == [["pods", "team", "p"]]


async def test_the_stream_begins_with_the_present_then_the_past_then_changes(
    browser: Browser, cluster: tuple[Cluster, str]
) -> None:
    await browser.log_in()
    state, base, past, live = await browser.read_stream(4)
    names = {row[2]: row[3][0] for row in state["rows"]}
    assert names["node-1"] == "Ready"
    assert {"kube-apiserver", "kube-scheduler"} <= names.keys()
    assert (base["type"], past["type"], live["type"]) == ("base", "past", "live")
    taints = [change[3][2] for change in past["changes"] if change[2] == "node-1"]
    assert taints[-1] == []

    headers = {"Mockkube-Ui-Key": browser.key}
    async with browser.session.get(f"{browser.origin}/ui/stream", headers=headers) as response:
        while json.loads(await response.content.readline())["type"] != "live":
            pass
        patch = {"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}}
        await browser.send("PATCH", f"{NODES}/node-2", patch, Content_Type="application/merge-patch+json")
        line = json.loads(await response.content.readline())
    assert line["type"] == "changes"
    assert [(one[2], one[3][2]) for one in line["changes"]] == [("node-2", [["a", "", "NoSchedule"]])]


async def test_the_stream_goes_on_while_the_api_server_restarts(browser: Browser) -> None:
    await browser.log_in()
    headers = {"Mockkube-Ui-Key": browser.key}
    async with browser.session.get(f"{browser.origin}/ui/stream", headers=headers) as response:
        while json.loads(await response.content.readline())["type"] != "live":
            pass
        patch = {"spec": {"version": "1.35"}}
        changed = await browser.send(
            "PATCH", f"{COMPONENTS}/kube-apiserver", patch, Content_Type="application/merge-patch+json"
        )
        assert changed.status == 200
        rows: list[Any] = []
        while not any(row[2] == "kube-apiserver" and row[3][2] == "1.35" for row in rows):
            rows += json.loads(await response.content.readline())["changes"]
        cordon = {"spec": {"unschedulable": True}}
        await browser.send("PATCH", f"{NODES}/node-1", cordon, Content_Type="application/merge-patch+json")
        while not any(row[2] == "node-1" and row[3][0] == "Ready,SchedulingDisabled" for row in rows):
            rows += json.loads(await response.content.readline())["changes"]


async def test_revisions_of_an_object_end_with_its_deletion(browser: Browser) -> None:
    await browser.log_in()
    await browser.send(
        "PATCH", f"{NODES}/node-1", {"metadata": {"labels": {"a": "b"}}}, Content_Type="application/merge-patch+json"
    )
    await browser.send("DELETE", f"{NODES}/node-1")
    found = (await browser.send("GET", "/ui/revisions?resource=nodes&name=node-1")).json
    assert found["complete"]
    assert [one["deleted"] for one in found["revisions"]][-2:] == [False, True]
    assert found["revisions"][-2]["object"]["metadata"]["labels"]["a"] == "b"
    assert "a" not in found["revisions"][0]["object"]["metadata"].get("labels", {})


async def test_compacted_revisions_are_unknown(browser: Browser, cluster: tuple[Cluster, str]) -> None:
    await browser.log_in()
    store = cluster[0].control_plane.api_server_dependencies.store
    await store.compact(store.revision)
    await browser.send(
        "PATCH", f"{NODES}/node-1", {"metadata": {"labels": {"a": "b"}}}, Content_Type="application/merge-patch+json"
    )
    found = (await browser.send("GET", "/ui/revisions?resource=nodes&name=node-1")).json
    assert not found["complete"]
    assert len(found["revisions"]) == 2


async def test_only_the_api_server_issues_links(cluster: tuple[Cluster, str], browser: Browser) -> None:
    await browser.log_in()
    answer = await browser.send("GET", f"{COMPONENTS}/kube-apiserver/ui")
    assert re.fullmatch(rf"{browser.origin}/ui/#[0-9a-f]{{64}}", answer.json["url"])
    assert (await browser.send("GET", f"{COMPONENTS}/kubelet/ui")).status == 404


async def test_an_exploration_is_kept_for_every_page(browser: Browser) -> None:
    await browser.log_in()
    assert (await browser.send("GET", "/ui/exploration")).json is None
    assert (await browser.send("PUT", "/ui/exploration", {"plan": "x"})).status == 200
    assert (await browser.send("GET", "/ui/exploration")).json == {"plan": "x"}
    assert ApiError.__name__ not in (await browser.send("GET", "/ui/exploration")).body.decode()


async def test_a_log_in_without_a_json_object_is_a_bad_request(browser: Browser) -> None:
    assert (await browser.send("POST", "/ui/login", [1])).status == 400
    assert (await browser.send("GET", "/ui/login")).status == 405
    assert (await browser.send("POST", "/ui/login", {"code": 5})).status == 401
