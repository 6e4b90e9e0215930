import pytest

from mockkube.api.kinds.batch.job import JobStrategy, default_job

STRATEGY = JobStrategy()


def job(judge=None, **spec):
    container = {
        "name": "c",
        "image": "i",
        "imagePullPolicy": "Always",
        "terminationMessagePolicy": "File",
        "resources": {},
    }
    pod = {"restartPolicy": "Never", "dnsPolicy": "ClusterFirst", "containers": [container]}
    pod["terminationGracePeriodSeconds"] = 30
    fields = {
        "parallelism": 1,
        "completions": 1,
        "completionMode": "NonIndexed",
        "manualSelector": False,
        "template": {"metadata": {}, "spec": pod},
    }
    obj = {"metadata": {"name": "j", "namespace": "n", "uid": "u"}, "spec": {**fields, **spec}, "status": {}}
    if judge is not None:
        gates = ("JobManagedBy", "JobSuccessPolicy", "JobBackoffLimitPerIndex", "JobPodReplacementPolicy")
        STRATEGY.prepare_for_create(obj, judge(*gates))
    return obj


def test_a_job_labels_its_pods_and_selects_them(judge):
    obj = job(judge)
    assert obj["spec"]["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": "u"}}
    assert obj["spec"]["template"]["metadata"]["labels"] == {
        "job-name": "j",
        "batch.kubernetes.io/job-name": "j",
        "controller-uid": "u",
        "batch.kubernetes.io/controller-uid": "u",
    }
    assert STRATEGY.validate(obj, judge()) == []


def test_a_job_with_the_labels_of_its_pods_gets_those_that_are_added_to_them(judge):
    given = {"kind": "Job", "metadata": {"name": "j"}, "spec": {"template": {"metadata": {"labels": {"app": "a"}}}}}
    default_job(given, judge().caps)
    STRATEGY.prepare_for_create(given, judge())
    assert given["metadata"]["labels"]["batch.kubernetes.io/job-name"] == "j"
    assert given["metadata"]["labels"] == given["spec"]["template"]["metadata"]["labels"]


def test_a_job_without_labels_takes_those_of_its_pods(judge):
    obj = job(judge)
    STRATEGY.canonicalize(obj)
    assert obj["metadata"]["labels"]["job-name"] == "j"


@pytest.mark.parametrize(
    ("spec", "complaints"),
    [
        pytest.param(
            {"parallelism": -1}, ["spec.parallelism: Invalid value: -1: must be greater than or equal to 0"], id="n"
        ),
        pytest.param(
            {"completionMode": "Indexed", "completions": None},
            ["spec.completions: Required value: when completion mode is Indexed"],
            id="indexed without end",
        ),
        pytest.param(
            {"backoffLimitPerIndex": 1},
            ["spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode"],
            id="per index without indexes",
        ),
        pytest.param(
            {"podReplacementPolicy": "Odd"},
            ['spec.podReplacementPolicy: Unsupported value: "Odd": supported values: "Failed", "TerminatingOrFailed"'],
            id="replacement",
        ),
        pytest.param(
            {"podFailurePolicy": {"rules": [{"action": "Count"}]}},
            [
                "spec.podFailurePolicy.rules[0]: Invalid value: specifying one of OnExitCodes and OnPodConditions is "
                "required"
            ],
            id="a rule about nothing",
        ),
        pytest.param(
            {"podFailurePolicy": {"rules": [{"onPodConditions": [{"type": "A", "status": "True"}]}]}},
            [
                'spec.podFailurePolicy.rules[0].action: Required value: valid values: ["Count" "FailIndex" "FailJob" '
                '"Ignore"]'
            ],
            id="a rule without consequence",
        ),
        pytest.param(
            {"podFailurePolicy": {"rules": [{"action": "Count", "onExitCodes": {"operator": "In", "values": [2, 0]}}]}},
            [
                "spec.podFailurePolicy.rules[0].onExitCodes.values[1]: Invalid value: 0: must not be 0 for the In "
                "operator",
                "spec.podFailurePolicy.rules[0].onExitCodes.values: Invalid value: [2,0]: must be ordered",
            ],
            id="exit codes",
        ),
    ],
)
def test_fields_are_judged(judge, spec, complaints):
    assert [str(error) for error in STRATEGY.validate(job(judge, **spec), judge())] == complaints


def test_the_last_pod_must_get_a_name(judge):
    obj = job(judge, completionMode="Indexed", completions=3)
    obj["metadata"]["name"] = "a" * 63
    assert "metadata.name" in {error.field for error in STRATEGY.validate(obj, judge())}


@pytest.mark.parametrize(
    ("new", "old", "fields"),
    [
        pytest.param({"parallelism": 3}, {}, set(), id="parallelism"),
        pytest.param({"completions": 3}, {}, {"spec.completions"}, id="completions"),
        pytest.param(
            {"completionMode": "Indexed", "completions": 3, "parallelism": 3},
            {"completionMode": "Indexed", "completions": 2, "parallelism": 2},
            set(),
            id="an elastic job",
        ),
        pytest.param({"managedBy": "a.b/c"}, {}, {"spec.managedBy"}, id="manager"),
    ],
)
def test_most_of_the_spec_never_changes(judge, new, old, fields):
    errors = STRATEGY.validate_update(job(judge, **new), job(judge, **old), judge())
    assert {error.field for error in errors} == fields


@pytest.mark.parametrize(("suspended", "refused"), [(True, False), (False, True)])
def test_a_suspended_job_may_go_elsewhere(judge, suspended, refused):
    old = job(judge, suspend=suspended)
    new = job(judge, suspend=suspended)
    new["spec"]["template"]["spec"]["nodeSelector"] = {"a": "b"}
    assert bool(STRATEGY.validate_update(new, old, judge())) is refused


def test_a_job_is_found_by_its_successes():
    assert STRATEGY.selectable_fields({"status": {"succeeded": 3}}) == {"status.successful": "3"}
