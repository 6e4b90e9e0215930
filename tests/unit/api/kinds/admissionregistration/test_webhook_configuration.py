import pytest

from mockkube.api.kinds.admissionregistration.webhook_configuration import (
    MutatingWebhookConfigurationStrategy,
    ValidatingWebhookConfigurationStrategy,
)

VALIDATING, MUTATING = ValidatingWebhookConfigurationStrategy(), MutatingWebhookConfigurationStrategy()


def configuration(*hooks):
    return {"metadata": {"name": "c"}, "webhooks": list(hooks)}


def hook(**fields):
    own = {
        "name": "a.b.c",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"url": "https://a.b/c"},
    }
    return {**own, **fields}


@pytest.mark.parametrize(
    ("obj", "complaints"),
    [
        pytest.param(configuration(hook()), [], id="fine"),
        pytest.param(
            configuration(hook(name="a.b")),
            [
                'webhooks[0].name: Invalid value: "a.b": should be a domain with at least three segments '
                "separated by dots"
            ],
            id="short name",
        ),
        pytest.param(
            configuration(hook(sideEffects="Some")),
            ['webhooks[0].sideEffects: Unsupported value: "Some": supported values: "None", "NoneOnDryRun"'],
            id="side effects",
        ),
        pytest.param(
            configuration(hook(timeoutSeconds=31)),
            ["webhooks[0].timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds"],
            id="too slow",
        ),
        pytest.param(configuration(hook(), hook()), ['webhooks[1].name: Duplicate value: "a.b.c"'], id="twice"),
    ],
)
def test_webhooks_are_judged(judge, obj, complaints):
    assert [str(error) for error in VALIDATING.validate(obj, judge())] == complaints


def test_what_was_wrong_before_may_stay_so(judge):
    odd = configuration(hook(sideEffects="Some"), hook(sideEffects="Some"))
    assert VALIDATING.validate_update(odd, odd, judge()) == []


def test_only_what_changes_is_called_again(judge):
    obj = configuration(hook(reinvocationPolicy="Odd"))
    assert VALIDATING.validate(obj, judge()) == []
    assert [error.field for error in MUTATING.validate(obj, judge())] == ["webhooks[0].reinvocationPolicy"]


def test_changes_of_webhooks_are_counted(judge):
    new = configuration(hook(timeoutSeconds=3))
    VALIDATING.prepare_for_update(new, {**configuration(hook()), "metadata": {"generation": 4}}, judge())
    assert new["metadata"]["generation"] == 5


@pytest.mark.parametrize(
    ("gates", "errors", "warnings"), [((), 0, 1), (("ManifestBasedAdmissionControlConfig",), 1, 0)]
)
def test_names_of_manifests_are_reserved(judge, gates, errors, warnings):
    obj = {"metadata": {"name": "a.static.k8s.io"}, "webhooks": []}
    assert len(VALIDATING.validate(obj, judge(*gates))) == errors
    assert len(VALIDATING.warnings_on_create(obj, judge(*gates))) == warnings
