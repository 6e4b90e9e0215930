"""Pod templates, as workload kinds call for them."""

from datetime import UTC, datetime
from functools import partial

from mockkube.api.kinds.core.pod.template import (
    drop_disabled_template_fields,
    pod_template_warnings,
    validate_pod_template,
    validate_pod_template_update,
)
from mockkube.api.strategy import StrategyContext
from mockkube.features.capabilities import Capabilities
from mockkube.proposals.component_extensions import make_validation_extensions

JUDGE = StrategyContext(Capabilities(), datetime(2026, 1, 1, tzinfo=UTC))
AT = "spec.template"
CONTAINER = {"name": "c", "image": " i", "imagePullPolicy": "Always", "terminationMessagePolicy": "File"}


def template(labels=None, **spec):
    base = {"restartPolicy": "Always", "dnsPolicy": "ClusterFirst", "terminationGracePeriodSeconds": 30}
    return {"metadata": {"labels": labels or {"a": "b"}}, "spec": {"containers": [CONTAINER], **base, **spec}}


COMPARES = {"tolerations": [{"key": "a", "operator": "Gt", "value": "1"}]}


def test_a_template_may_say_what_a_pod_may_not():
    assert validate_pod_template(template(), AT, JUDGE) == []


def test_labels_are_complained_of_under_upstreams_path():
    errors = validate_pod_template(template(labels={"a b": "c"}), AT, JUDGE)
    assert [error.field for error in errors] == ["spec.template.labels"]


def test_a_template_has_no_ephemeral_containers():
    container = {**CONTAINER, "name": "e", "image": "i"}
    errors = validate_pod_template(template(ephemeralContainers=[container]), AT, JUDGE)
    assert [str(error) for error in errors] == [
        "spec.template.spec.ephemeralContainers: Forbidden: ephemeral containers not allowed in pod template"
    ]


def test_a_template_that_compared_before_may_go_on():
    new, old = template(**COMPARES), template()
    update = partial(validate_pod_template_update, extensions=make_validation_extensions(JUDGE.caps.version))
    assert [error.field for error in update(new, old, AT, JUDGE)] == ["spec.template.spec.tolerations[0].operator"]
    assert update(new, new, AT, JUDGE) == []
    assert update(new, None, AT, JUDGE) != []


def test_fields_behind_gates_are_dropped_from_a_template():
    new = template(hostnameOverride="h")
    drop_disabled_template_fields(new, None, JUDGE.caps)
    assert "hostnameOverride" not in new["spec"]


def test_warnings_name_the_path_of_the_template():
    spec = {"nodeSelector": {"beta.kubernetes.io/os": "linux"}}
    (text,) = pod_template_warnings(template(**spec), AT, JUDGE)
    assert text.startswith("spec.template.spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14")
