"""An account as people read it."""

from typing import Any

from mockkube.explain.rendering import render_explanation, render_owner_explanation

PENDING: dict[str, Any] = {
    "pod": {"namespace": "default", "name": "p"},
    "state": "is pending",
    "fate": "unbound",
    "gone": False,
    "deeds": [],
    "obstacle": {"stage": "Scheduled", "component": "kube-scheduler", "reason": "does not place it: 0/1", "detail": ""},
    "decision": "0/1",
    "node": "",
    "nodes": [{"node": "n1", "plugin": "NodeName", "reasons": ["one", "two"], "detail": "wanted: n2"}],
    "scores": {},
    "notes": [],
    "whatIf": [],
    "events": ["FailedScheduling by default-scheduler: 0/1"],
}


def remedy(kind: str, component: str, change: str, but: str = "") -> dict[str, str]:
    return {"kind": kind, "component": component, "change": change, "node": "n1", "but": but}


def test_a_pending_pod_shows_its_nodes_and_that_nothing_helps() -> None:
    assert list(render_explanation(PENDING)) == [
        "Pod default/p is pending.",
        "What stops it now: kube-scheduler does not place it: 0/1",
        "",
        "NODE   REJECTED BY   REASON     DETAIL",
        "n1     NodeName      one, two   wanted: n2",
        "",
        "No single change that was tried would help.",
    ]


def test_versions_after_which_the_same_happens_share_a_row() -> None:
    changes = [
        remedy("version", "kube-scheduler", "1.35"),
        remedy("version", "kube-scheduler", "1.36"),
        remedy("version", "kube-scheduler", "1.37", "kubelet rejects it"),
        remedy("taint", "", "node n1 loses its taint"),
        remedy("taint", "", "node n2 loses its taint"),
    ]
    assert list(render_explanation({**PENDING, "nodes": [], "whatIf": changes}))[3:] == [
        "One of these changes would help:",
        "KIND      CHANGE                        NODE   NEXT OBSTACLE",
        "version   kube-scheduler 1.35 or 1.36   n1",
        "version   kube-scheduler 1.37           n1     kubelet rejects it",
        "taint     node n1 loses its taint       n1",
        "taint     node n2 loses its taint       n1",
    ]


def test_a_pod_that_is_well_shows_why_it_is_where_it_is() -> None:
    scores = {"n1": {"Fit": 90, "Spread": 0}, "n2": {"Fit": 95, "Spread": 10}}
    well = {
        "state": "is bound to n2",
        "fate": "running",
        "obstacle": None,
        "node": "n2",
        "decision": "goes to n2: 2 of the nodes fit",
    }
    assert list(render_explanation({**PENDING, **well, "nodes": [], "scores": scores})) == [
        "Pod default/p is bound to n2.",
        "Nothing stops it. Decided again, it goes to n2: 2 of the nodes fit",
        "",
        "NODE   SCORE   BY PLUGIN",
        "n2     105     Fit 95, Spread 10",
        "n1     90      Fit 90",
    ]


def test_a_pod_that_is_gone_and_forgotten_shows_its_events() -> None:
    forgotten = {"state": "is gone", "fate": "", "gone": True, "obstacle": None, "nodes": [], "decision": ""}
    told = list(render_explanation({**PENDING, **forgotten, "deeds": ["The server no longer has its last state."]}))
    assert told == [
        "Pod default/p is gone.",
        "The server no longer has its last state.",
        "",
        "Events, the last at the end:",
        "  FailedScheduling by default-scheduler: 0/1",
    ]


def test_many_nodes_are_cut_short() -> None:
    nodes = [{"node": f"n{i}", "plugin": "P", "reasons": ["r"], "detail": ""} for i in range(25)]
    assert "... and 5 more nodes (-o json shows all)" in list(render_explanation({**PENDING, "nodes": nodes}))


def test_what_makes_no_pods_says_who_refuses_them() -> None:
    report = {
        "maker": {"kind": "DaemonSet", "namespace": "default", "name": "d"},
        "pods": ["d-1"],
        "stopped": [],
        "stoppedPod": None,
        "refusals": ["spec: bad"],
        "nodes": [{"node": "n1", "reason": "taint a:NoSchedule"}],
        "whatIf": [remedy("gate", "kube-apiserver", "X=true")],
    }
    assert list(render_owner_explanation(report)) == [
        "DaemonSet default/d has 1 pod.",
        "The API server rejects its pods: spec: bad",
        "It creates no pod on n1: taint a:NoSchedule",
        "",
        "This change would help:",
        "KIND   CHANGE                  NODE",
        "gate   kube-apiserver X=true   n1",
        "",
        "To explain one of them: mockkube why -n default pod/d-1",
    ]


def test_a_workload_shows_why_its_first_pod_does_not_run() -> None:
    report = {
        "maker": {"kind": "Deployment", "namespace": "default", "name": "web"},
        "pods": ["a", "p", "q"],
        "stopped": ["p", "q"],
        "stoppedPod": PENDING,
        "refusals": [],
        "nodes": [],
        "whatIf": [],
    }
    assert list(render_owner_explanation(report)) == [
        "Deployment default/web has 3 pods; 2 of them do not run.",
        "",
        *render_explanation(PENDING),
        "",
        "For the next pod: mockkube why -n default pod/q",
    ]
