"""Configured admission webhooks: match them with a request and call them."""

# upstream 1.36: apiserver/pkg/admission/plugin/webhook/generic/webhook.go
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final

from mockkube.api.errors import BadRequest, Internal
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.apiserver.admission.errors import new_forbidden
from mockkube.apiserver.admission.policies.conditions import conditions_match
from mockkube.apiserver.admission.policies.evaluation import EvaluationError, VersionedAttributes, make_activation
from mockkube.apiserver.admission.policies.expressions import BOOL, ExpressionScope, compile_expression
from mockkube.apiserver.admission.policies.matching import GROUP, RequestMatcher, find_matching_resource
from mockkube.apiserver.admission.webhooks.reviews import WebhookResponse, make_review, parse_response, rejection_error
from mockkube.apiserver.registry.admission import AdmissionAttributes
from mockkube.apiserver.registry.webhook_calls import WebhookCallError
from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.tracing import child_span

# Default timeout of a webhook call.
TIMEOUT_SECONDS_DEFAULT: Final = 10
_REVIEW_VERSIONS: Final = ("v1", "v1beta1")
_SELECTORS: Final = ("namespaceSelector", "objectSelector", "matchPolicy")
_NO_SIDE_EFFECTS: Final = ("None", "NoneOnDryRun")


@dataclass(frozen=True, slots=True)
class AdmissionWebhook:
    """Webhook of a configuration (upstream: WebhookAccessor)."""

    configuration: str
    raw: ReadOnlyObject
    # Whether it may change the object.
    is_mutating: bool

    @property
    def name(self) -> str:
        """Name of the webhook in messages."""
        name: str = self.raw["name"]
        return name

    @property
    def fails_closed(self) -> bool:
        """True if a failed call rejects the request."""
        return bool(self.raw.get("failurePolicy") != "Ignore")

    @property
    def is_reinvocable(self) -> bool:
        """True if it is called again if the object changed after it."""
        return bool(self.raw.get("reinvocationPolicy") == "IfNeeded")

    def match(self, request: AdmissionAttributes) -> VersionedAttributes | None:
        """Return the request in the version that the webhook matches; None if it does not match."""
        rules = self.raw.get("rules")
        if not rules:
            return None
        criteria = {"resourceRules": rules, **{key: self.raw[key] for key in _SELECTORS if key in self.raw}}
        resource = find_matching_resource(request, criteria)
        if resource is None:
            return None
        attributes = VersionedAttributes(request, resource)
        return attributes if self._meets_conditions(attributes) else None

    def _meets_conditions(self, attributes: VersionedAttributes) -> bool:
        conditions = self.raw.get("matchConditions") or ()
        if not conditions:
            return True
        programs = [compile_expression(one["expression"], ExpressionScope(), BOOL) for one in conditions]
        try:
            return conditions_match(
                programs, make_activation(attributes.make_variables(None, None), {}), fail_closed=self.fails_closed
            )
        except EvaluationError as error:
            raise new_forbidden(attributes.request, str(error)) from error

    async def call(self, attributes: VersionedAttributes) -> WebhookResponse | None:
        """Call the webhook and return its response; raise ApiError if it rejects the request.

        Return None if the call failed and the failure policy ignores that.
        """
        request = attributes.request
        dependencies = request.resource.dependencies
        # A webhook with side effects must not be called in a dry run, and not skipped either.
        if request.dry_run and self.raw.get("sideEffects") not in _NO_SIDE_EFFECTS:
            raise BadRequest(f'admission webhook "{self.name}" does not support dry run')
        uid, version = dependencies.random.new_uid(), self._review_version()
        admission_review = await attributes.resource.run_with_conversions(
            partial(make_review, attributes, uid, version)
        )
        seconds = self.raw.get("timeoutSeconds") or TIMEOUT_SECONDS_DEFAULT
        try:
            try:
                with child_span(f"Call {'mutating' if self.is_mutating else 'validating'} webhook", webhook=self.name):
                    client = self.raw["clientConfig"]
                    answer = await dependencies.call_webhook(client, admission_review, seconds, self.name)
            except WebhookCallError as error:
                raise WebhookCallError(f"failed to call webhook: {error}") from error
            response = parse_response(answer, uid, version, is_mutating=self.is_mutating)
        except WebhookCallError as error:
            if self.fails_closed:
                raise Internal(f'failed calling webhook "{self.name}": {error}') from error
            return None
        request.scope.warn(response.warnings)
        if not response.allowed:
            raise rejection_error(self.name, response.result)
        return response

    def _review_version(self) -> str:
        # The webhook lists the versions it understands in order of preference.
        return next((one for one in self.raw.get("admissionReviewVersions") or () if one in _REVIEW_VERSIONS), "v1")


def list_webhooks(request: AdmissionAttributes, plural: str) -> Iterator[AdmissionWebhook]:
    """Yield the webhooks of all configurations of a kind, by the configuration's name."""
    resource = request.find_resource(GROUP, plural)
    cached_objects = resource.collection.well_formed(resource.prefix(""), "admission webhooks")
    if not cached_objects or RequestMatcher(request).is_exempt:
        return
    for cached in cached_objects:
        configuration: Mapping[str, Any] = cached.load()
        for raw in configuration.get("webhooks") or ():
            yield AdmissionWebhook(configuration["metadata"]["name"], raw, is_mutating=plural.startswith("mutating"))
