import pytest

from mockkube.api.kinds.networking.ingress_class import IngressClassStrategy

STRATEGY = IngressClassStrategy()


def ingress_class(**spec):
    return {"metadata": {"name": "c"}, "spec": {"controller": "a.b/c", **spec}}


@pytest.mark.parametrize(
    ("parameters", "complaints"),
    [
        pytest.param({"kind": "K", "name": "n", "scope": "Cluster"}, [], id="cluster"),
        pytest.param(
            {"kind": "K", "name": "n", "scope": "Namespace"},
            ["spec.parameters.namespace: Required value: `parameters.scope` is set to 'Namespace'"],
            id="no namespace",
        ),
        pytest.param(
            {"kind": "K", "name": "n", "scope": "Cluster", "namespace": "x"},
            ["spec.parameters.namespace: Forbidden: `parameters.scope` is set to 'Cluster'"],
            id="needless namespace",
        ),
        pytest.param(
            {"scope": "Cluster"},
            ["spec.parameters.kind: Required value", "spec.parameters.name: Required value"],
            id="no object",
        ),
    ],
)
def test_parameters_are_judged(judge, parameters, complaints):
    errors = STRATEGY.validate(ingress_class(parameters=parameters), judge())
    assert [str(error) for error in errors] == complaints


def test_the_controller_never_changes(judge):
    (error,) = STRATEGY.validate_update(ingress_class(controller="a.b/d"), ingress_class(), judge())
    assert str(error) == 'spec.controller: Invalid value: "a.b/d": field is immutable'


def test_a_controller_that_is_gone_is_shown_as_the_empty_text(judge):
    errors = STRATEGY.validate_update({"metadata": {"name": "c"}}, ingress_class(), judge())
    assert str(errors[0]) == 'spec.controller: Invalid value: "": field is immutable'
