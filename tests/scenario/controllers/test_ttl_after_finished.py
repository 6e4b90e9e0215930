"""Finished jobs that ask to be deleted."""

TEMPLATE = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}


async def finished(sim, **spec):
    await sim.start("ttl-after-finished-controller")
    await sim.create("Job", "j", spec={"template": TEMPLATE, **spec})
    now = sim.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    ends = [{"type": kind, "status": "True", "lastTransitionTime": now} for kind in ("SuccessCriteriaMet", "Complete")]
    await sim.status("Job", "j", {"startTime": now, "completionTime": now, "conditions": ends})


async def test_a_job_stays_for_as_long_as_it_asked(sim):
    await finished(sim, ttlSecondsAfterFinished=30)
    await sim.advance(29.9)
    assert "deletionTimestamp" not in (await sim.get("Job", "j"))["metadata"]
    await sim.advance(0.1)
    assert (await sim.get("Job", "j"))["metadata"]["finalizers"] == ["foregroundDeletion"]


async def test_a_job_that_does_not_ask_stays(sim):
    await finished(sim)
    await sim.advance(3600)
    assert "deletionTimestamp" not in (await sim.get("Job", "j"))["metadata"]
