"""Webhooks that are asked: a function in their place says what they would."""

import base64

import orjson
import pytest

from mockkube.api.errors import ApiError, BadRequest
from mockkube.apiserver.admission.chain import AdmissionChain
from mockkube.apiserver.admission.policies.evaluation import VersionedAttributes
from mockkube.apiserver.admission.webhooks.plugins import MutatingAdmissionWebhook, ValidatingAdmissionWebhook
from mockkube.apiserver.admission.webhooks.webhook import AdmissionWebhook
from mockkube.apiserver.identity.user import User
from mockkube.apiserver.registry.admission import AdmissionPlugin
from mockkube.apiserver.registry.webhook_calls import WebhookCallError

GROUP = "admissionregistration.k8s.io/v1"
CONFIGS = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps"]}
REVIEW = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}


def hook(name="a.example.com", **given):
    given = {"rules": [CONFIGS], "sideEffects": "None", "admissionReviewVersions": ["v1"], **given}
    return {"name": name, "clientConfig": {"url": f"https://127.0.0.1/{name}"}, **given}


def configuration(kind, *hooks, name="w"):
    return {"apiVersion": GROUP, "kind": kind, "metadata": {"name": name}, "webhooks": list(hooks)}


def judging(*hooks):
    return configuration("ValidatingWebhookConfiguration", *hooks)


def changing(*hooks):
    return configuration("MutatingWebhookConfiguration", *hooks)


def config(name="c", **data):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "ns"}, "data": data}


class Answers:
    """What each webhook answers, by the name in its URL, and what they were asked."""

    def __init__(self, world, **answers):
        self.answers, self.asked = answers, []
        world.registry.dependencies.call_webhook = self

    async def __call__(self, client, review, seconds, called):
        name = client["url"].rpartition("/")[2].partition(".")[0]
        self.asked.append((name, review["request"], seconds))
        answer = self.answers.get(name, {"allowed": True})
        if isinstance(answer, Exception):
            raise answer
        answer = answer(review["request"]) if callable(answer) else answer
        return {**REVIEW, "response": {"uid": review["request"]["uid"], **answer}}


def patch(*operations):
    return {"allowed": True, "patchType": "JSONPatch", "patch": base64.b64encode(orjson.dumps(operations)).decode()}


async def judged(world, request):
    with pytest.raises(ApiError) as caught:
        await ValidatingAdmissionWebhook().validate_async(request)
    return caught.value


async def test_a_webhook_is_told_what_is_written_and_by_whom(world):
    await world.put(judging(hook(timeoutSeconds=3)))
    answers = Answers(world)
    await ValidatingAdmissionWebhook().validate_async(world.creation(config(a="1")))
    ((_, request, seconds),) = answers.asked
    assert seconds == 3
    assert request["object"]["data"] == {"a": "1"}
    assert request["oldObject"] is None
    assert (request["operation"], request["userInfo"], request["name"]) == ("CREATE", {"username": "somebody"}, "c")
    assert request["kind"] == {"group": "", "version": "v1", "kind": "ConfigMap"}


@pytest.mark.parametrize(
    ("status", "message", "code", "reason"),
    [
        pytest.param({}, "without explanation", 400, "", id="nothing"),
        pytest.param({"message": "no"}, ": no", 400, "", id="a message"),
        pytest.param({"reason": "Forbidden", "code": 403}, ": Forbidden", 403, "Forbidden", id="a reason"),
        pytest.param({"message": "no", "code": 200, "status": "Success"}, ": no", 400, "", id="no failure"),
    ],
)
async def test_a_webhook_refuses_with_what_it_says(world, status, message, code, reason):
    await world.put(judging(hook()))
    Answers(world, a={"allowed": False, "status": status})
    error = await judged(world, world.creation(config()))
    said = f'admission webhook "a.example.com" denied the request{" " if message[0] != ":" else ""}{message}'
    assert (error.message, error.code, error.reason) == (said, code, reason)


async def test_the_first_webhook_that_refuses_is_the_answer_and_all_are_asked(world):
    await world.put(judging(hook("a.b.c"), hook("b.b.c"), hook("c.b.c")))
    refusal = {"allowed": False, "warnings": ["careful"]}
    answers, request = Answers(world, b=refusal, c=refusal), world.creation(config())
    assert (await judged(world, request)).message.startswith('admission webhook "b.b.c" denied')
    assert len(answers.asked) == 3
    assert request.scope.warnings == ["careful"]


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        pytest.param(WebhookCallError("no route"), "failed to call webhook: no route", id="not reached"),
        pytest.param(
            {"allowed": True, "uid": "other"},
            'received invalid webhook response: expected response.uid="ID", got "other"',
            id="another's answer",
        ),
        pytest.param(
            patch({"op": "add", "path": "/data", "value": {}}),
            "received invalid webhook response: validating webhook may not return response.patch",
            id="a patch",
        ),
    ],
)
async def test_a_call_that_fails_counts_as_the_webhook_says(world, answer, why):
    await world.put(judging(hook(failurePolicy="Fail")))
    answers, request = Answers(world, a=answer), world.creation(config())
    error = await judged(world, request)
    said = error.message.replace(answers.asked[0][1]["uid"], "ID")
    assert said == f'Internal error occurred: failed calling webhook "a.example.com": {why}'
    resource = world.registry.resources["admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations"]
    await world.change(resource, "w", lambda obj: obj["webhooks"][0].update(failurePolicy="Ignore"))
    await ValidatingAdmissionWebhook().validate_async(request)


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"rules": [{**CONFIGS, "operations": ["UPDATE"]}]}, id="another operation"),
        pytest.param({"objectSelector": {"matchLabels": {"a": "b"}}}, id="other labels"),
        pytest.param({"matchConditions": [{"name": "c", "expression": "request.name == 'x'"}]}, id="a condition"),
        pytest.param({"rules": []}, id="no rules"),
    ],
)
async def test_a_webhook_is_asked_only_of_what_it_is_for(world, given):
    await world.put(judging(hook(**given)))
    answers = Answers(world)
    await ValidatingAdmissionWebhook().validate_async(world.creation(config()))
    assert answers.asked == []


async def test_a_webhook_with_effects_is_not_asked_in_a_dry_run(world):
    answers, request = Answers(world), world.creation(config())
    request.dry_run = True
    with pytest.raises(BadRequest, match=r'admission webhook "a.example.com" does not support dry run'):
        await AdmissionWebhook("w", hook(sideEffects="Unknown"), is_mutating=False).call(
            VersionedAttributes(request, request.resource)
        )
    assert answers.asked == []
    await AdmissionWebhook("w", hook(), is_mutating=False).call(VersionedAttributes(request, request.resource))
    assert answers.asked[0][1]["dryRun"] is True


async def test_webhooks_change_the_object_one_after_the_other(world):
    await world.put(changing(hook("a.b.c"), hook("b.b.c")))
    answers = Answers(
        world,
        a=patch({"op": "add", "path": "/data/a", "value": "1"}),
        b=lambda request: patch({"op": "add", "path": "/data/b", "value": request["object"]["data"]["a"] + "2"}),
    )
    request = world.creation(config(x="0"))
    assert await MutatingAdmissionWebhook().admit_async(request, reinvocation=False)
    assert request.new["data"] == {"x": "0", "a": "1", "b": "12"}
    assert [name for name, *_ in answers.asked] == ["a", "b"]


async def test_a_patched_object_is_decoded_and_completed(world):
    await world.put(changing(hook(rules=[{**CONFIGS, "resources": ["pods"]}])))
    container = {"name": "side", "image": "i", "nonsense": 1}
    Answers(world, a=patch({"op": "add", "path": "/spec/containers/-", "value": container}))
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "ns"}}
    request = world.creation({**pod, "spec": {"containers": [{"name": "c", "image": "i"}]}})
    await MutatingAdmissionWebhook().admit_async(request, reinvocation=False)
    added = request.new["spec"]["containers"][1]
    assert added["imagePullPolicy"] == "Always"
    assert "nonsense" not in added


async def test_what_changed_is_admitted_again_and_shown_to_those_who_want_it(world):
    class Counting(AdmissionPlugin):
        name, seen = "Counting", 0

        def admit(self, request):
            self.seen += 1

    await world.put(changing(hook("a.b.c", reinvocationPolicy="IfNeeded"), hook("b.b.c")))
    counting, change = Counting(), patch({"op": "add", "path": "/data/b", "value": "1"})
    answers = Answers(world, b=change)
    chain, request = AdmissionChain([counting, MutatingAdmissionWebhook()]), world.creation(config(x="0"))
    chain.admit(request)
    await chain.admit_async(request)
    assert counting.seen == 2
    assert [name for name, *_ in answers.asked] == ["a", "b", "a"]
    await chain.admit_async(request)
    assert [name for name, *_ in answers.asked] == ["a", "b", "a", "a", "b"]


async def test_a_deletion_has_nothing_to_change(world):
    await world.put(changing(hook()))
    Answers(world, a=patch({"op": "remove", "path": "/data"}))
    with pytest.raises(ApiError, match="attempted to modify the object, which is not supported for this operation"):
        await MutatingAdmissionWebhook().admit_async(world.deletion(config()), reinvocation=False)


async def test_what_configures_admission_is_not_shown_to_webhooks(world):
    await world.put(judging(hook(rules=[{**CONFIGS, "apiGroups": ["*"], "resources": ["*"]}])))
    answers, request = Answers(world), world.creation(judging())
    request.scope.user = User("admin")
    await ValidatingAdmissionWebhook().validate_async(request)
    assert answers.asked == []
