"""Perturbations are chosen from what the controller did."""

from dataclasses import replace
from typing import Any

import pytest

from mockkube.perturb.normalization import ObjectId
from mockkube.perturb.object_history import RecordedChange
from mockkube.perturb.perturbation import Perturbation
from mockkube.perturb.planning.catalogue import KINDS, plan_perturbations
from mockkube.perturb.recorder import USER, RunRecord, WebhookCall
from tests.unit.perturb.records import change, event, record, request, workload


def plan(kind: str, run: RunRecord, steps: int = 2) -> list[Perturbation]:
    return list(KINDS[kind](run, workload(steps)))


def ids(kind: str, run: RunRecord, steps: int = 2) -> list[str]:
    return [one.id for one in plan(kind, run, steps)]


class TestWrites:
    def test_each_successful_write_is_tried(self) -> None:
        run = record(
            request("create", "configmaps", "a"),
            request("get", "configmaps", "a"),
            request("update", "configmaps", "a", status=409),
            request("update", "configmaps", "a", step=2),
            request("update", "configmaps", "b", by=USER),
            request("update", "leases", "lock", group="coordination.k8s.io"),
        )
        assert ids("crash", run) == ["crash/1/create-configmaps-1", "crash/2/update-configmaps-a-1"]

    def test_of_those_alike_the_first_ones_and_the_last(self) -> None:
        run = record(*(request("patch", "configmaps", "a") for _ in range(9)))
        assert [one.rpartition("-")[2] for one in ids("crash", run)] == ["1", "2", "3", "9"]

    def test_a_generated_name_is_not_part_of_the_match(self) -> None:
        run = record(request("update", "configmaps", "x-7f2"), changes=[change("x-7f2", 1, generateName="x-")])
        (one,) = plan("crash", run)
        assert one.kill_after is not None
        assert (one.kill_after.name, one.id) == ("", "crash/1/update-configmaps-1")

    def test_the_second_of_its_kind_is_selected_by_a_fault(self) -> None:
        run = record(request("create", "configmaps", "a"), request("create", "configmaps", "b"))
        second = plan("timeout", run)[1]
        assert second.faults[0]["match"] == {
            "user": "mockkube-perturb:controller",
            "verbs": ["create"],
            "resources": ["configmaps"],
            "namespace": "ns",
        }
        assert (second.faults[0]["skip"], second.faults[0]["count"]) == (1, 1)
        assert second.faults[0]["inject"]["afterEffect"]

    def test_only_writes_with_a_resource_version_conflict(self) -> None:
        body = {"metadata": {"name": "b", "resourceVersion": "5"}}
        run = record(request("update", "configmaps", "a", body={}), request("update", "configmaps", "b", body=body))
        assert ids("conflict", run) == ["conflict/1/update-configmaps-b-1"]


class TestWatches:
    RUN = record(
        delivered=[event("a", 1, step=0), event("a", 2), event("a", 3, step=2), event("b", 4, step=2)],
        changes=[change("a", 1), change("a", 2, data={"x": "1"}), change("a", 3, data={"x": "2"}), change("b", 4)],
    )

    def test_they_lag_in_one_step_and_in_two(self) -> None:
        planned = plan("lag", self.RUN)
        assert [(one.id, one.ends_after) for one in planned] == [
            ("lag/1/configmaps", 1),
            ("lag/2/configmaps", 2),
            ("lag/1-2/configmaps", 2),
        ]

    def test_a_state_is_missed_if_another_follows(self) -> None:
        (one,) = plan("missed-events", self.RUN)
        assert (one.id, one.ends_after) == ("missed-events/1/configmaps-a-1", 2)
        assert (one.faults[0]["match"]["name"], one.faults[0]["skip"]) == ("a", 0)

    def test_two_watches_of_one_process_show_no_next_state(self) -> None:
        run = record(delivered=[event("a", 2, kind="DELETED"), event("a", 2, kind="DELETED")])
        assert ids("missed-events", run) == []

    def test_changes_of_the_same_fields_are_missed_once(self) -> None:
        revisions = range(1, 9)
        run = record(
            delivered=[event("a", revision) for revision in revisions],
            changes=[change("a", revision, data={"x": str(revision)}) for revision in revisions],
        )
        assert len(plan("missed-events", run)) == 2  # the creation, and a change of data.x

    def test_repeated_events_last_to_the_end(self) -> None:
        (one,) = plan("repeated-events", self.RUN)
        assert (one.step, one.ends_after) == (0, 2)


class TestTimeTravel:
    def test_it_needs_reads_from_a_cache(self) -> None:
        assert ids("time-travel", record(request("list", "configmaps"))) == []

    def test_it_goes_to_earlier_steps_and_deletions_of_users(self) -> None:
        run = record(
            request("list", "configmaps", step=0, from_cache=True),
            request("delete", "configmaps", "a", by=USER),
            changes=[change("a", 50, deletionTimestamp="2030-01-01T00:00:00Z"), change("b", 60, deletionTimestamp="x")],
        )
        assert ids("time-travel", run) == [
            "time-travel/1/deletion-of-a",
            "time-travel/2/deletion-of-a",
            "time-travel/2/step-1",
        ]


def test_a_lease_is_stolen_in_each_step() -> None:
    lease = {"group": "coordination.k8s.io"}
    run = record(request("create", "leases", "lock", step=0, **lease), request("update", "leases", "lock", **lease))
    assert ids("lost-leadership", run) == ["lost-leadership/1/lock", "lost-leadership/2/lock"]


def test_nobody_takes_the_heartbeat_of_a_node() -> None:
    lease = request("update", "leases", "node-1", group="coordination.k8s.io")
    heartbeat = replace(lease, observed=replace(lease.observed, namespace="kube-node-lease"))
    assert ids("lost-leadership", record(heartbeat)) == []


class TestWebhooks:
    @staticmethod
    def run(**webhook: Any) -> RunRecord:
        hook = {"name": "a.example.com", **webhook}
        configuration = {"kind": "MutatingWebhookConfiguration", "metadata": {"name": "a"}, "webhooks": [hook]}
        identity = ObjectId("mutatingwebhookconfigurations.admissionregistration.k8s.io", "", "a")
        run = record(changes=[RecordedChange(1.0, 1, identity, configuration, False, True)])
        run.webhook_calls = [WebhookCall(2, "controller", "a.example.com")] * 2
        return run

    def test_each_webhook_that_is_called_for_the_controller_is_slow(self) -> None:
        (one,) = plan("slow-webhook", self.run(timeoutSeconds=1))
        assert (one.id, one.step) == ("slow-webhook/2/a.example.com", 2)
        assert one.faults[0]["match"] == {"user": "mockkube-perturb:controller", "webhook": "a.example.com"}
        assert one.faults[0]["inject"] == {"delaySeconds": 0.8}

    @pytest.mark.parametrize(
        ("policy", "effect"),
        [
            pytest.param({}, "within its 10 s in step 2: writes fail", id="the default"),
            pytest.param({"failurePolicy": "Ignore"}, "writes pass without it", id="ignored"),
        ],
    )
    def test_it_does_not_answer_in_time(self, policy: dict[str, Any], effect: str) -> None:
        (one,) = plan("webhook-timeout", self.run(**policy))
        assert effect in one.text
        assert one.faults[0]["inject"]["delaySeconds"] > 30  # the longest timeout of a webhook

    def test_without_webhooks_there_is_nothing_to_try(self) -> None:
        assert [*ids("slow-webhook", record()), *ids("webhook-timeout", record())] == []


def test_the_first_of_each_kind_come_first() -> None:
    run = record(request("create", "configmaps", "a"), request("create", "configmaps", "b"))
    planned = [one.kind for one in plan_perturbations(run, workload())]
    assert planned[:3] == ["crash", "timeout", "error"]
    assert planned.index("crash", 1) > planned.index("restart")


@pytest.mark.parametrize("kinds", [("crash",), ("slow", "error")])
def test_kinds_can_be_chosen(kinds: Any) -> None:
    run = record(request("create", "configmaps", "a"))
    assert {one.kind for one in plan_perturbations(run, workload(kinds=kinds))} == set(kinds)
