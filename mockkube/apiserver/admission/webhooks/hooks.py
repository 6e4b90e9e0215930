"""Configured admission webhooks: match them with a request and call them."""

# upstream 1.36: apiserver/pkg/admission/plugin/webhook/generic/webhook.go
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from mockkube.api.errors import BadRequest, Internal
from mockkube.api.types import ReadOnlyObject
from mockkube.apiserver.admission.policies.conditions import met
from mockkube.apiserver.admission.policies.evaluation import Failed, Occasion, activation
from mockkube.apiserver.admission.policies.expressions import BOOL, Scope, compiled
from mockkube.apiserver.admission.policies.matching import GROUP, Subject, matching_resource
from mockkube.apiserver.admission.refusals import refuse
from mockkube.apiserver.admission.webhooks.reviews import Verdict, rejection, review, verdict
from mockkube.apiserver.registry.admission import Request
from mockkube.apiserver.registry.webhook_calls import CallFailed

# Default timeout of a webhook call.
SECONDS: Final = 10
_VERSIONS: Final = ("v1", "v1beta1")
_SELECTORS: Final = ("namespaceSelector", "objectSelector", "matchPolicy")
_HARMLESS: Final = ("None", "NoneOnDryRun")


@dataclass(frozen=True, slots=True)
class Hook:
    """Webhook of a configuration (upstream: WebhookAccessor)."""

    configuration: str
    raw: ReadOnlyObject
    # Whether it may change the object.
    changes: bool

    @property
    def name(self) -> str:
        """Name of the webhook in messages."""
        name: str = self.raw["name"]
        return name

    @property
    def fails(self) -> bool:
        """True if a failed call rejects the request."""
        return bool(self.raw.get("failurePolicy") != "Ignore")

    @property
    def reinvoked(self) -> bool:
        """True if it is called again if the object changed after it."""
        return bool(self.raw.get("reinvocationPolicy") == "IfNeeded")

    def occasion(self, request: Request) -> Occasion | None:
        """Return the request in the version that the webhook matches; None if it does not match."""
        rules = self.raw.get("rules")
        if not rules:
            return None
        criteria = {"resourceRules": rules, **{key: self.raw[key] for key in _SELECTORS if key in self.raw}}
        resource = matching_resource(request, criteria)
        if resource is None:
            return None
        occasion = Occasion(request, resource)
        return occasion if self._meets_conditions(occasion) else None

    def _meets_conditions(self, occasion: Occasion) -> bool:
        conditions = self.raw.get("matchConditions") or ()
        if not conditions:
            return True
        programs = [compiled(one["expression"], Scope(), BOOL) for one in conditions]
        try:
            return met(programs, activation(occasion.names(None, None), {}), fails=self.fails)
        except Failed as error:
            raise refuse(occasion.request, str(error)) from error

    async def ask(self, occasion: Occasion) -> Verdict | None:
        """Call the webhook and return its response; raise ApiError if it rejects the request.

        Return None if the call failed and the failure policy ignores that.
        """
        request = occasion.request
        services = request.resource.services
        # A webhook with side effects must not be called in a dry run, and not skipped either.
        if request.dry_run and self.raw.get("sideEffects") not in _HARMLESS:
            raise BadRequest(f'admission webhook "{self.name}" does not support dry run')
        uid, version = services.chance.new_uid(), self._version()
        admission_review = await occasion.resource.decided(partial(review, occasion, uid, version))
        seconds = self.raw.get("timeoutSeconds") or SECONDS
        try:
            try:
                answer = await services.call_webhook(self.raw["clientConfig"], admission_review, seconds)
            except CallFailed as error:
                raise CallFailed(f"failed to call webhook: {error}") from error
            response = verdict(answer, uid, version, changes=self.changes)
        except CallFailed as error:
            if self.fails:
                raise Internal(f'failed calling webhook "{self.name}": {error}') from error
            return None
        request.call.warn(response.warnings)
        if not response.allowed:
            raise rejection(self.name, response.result)
        return response

    def _version(self) -> str:
        # The webhook lists the versions it understands in order of preference.
        return next((one for one in self.raw.get("admissionReviewVersions") or () if one in _VERSIONS), "v1")


def hooks(request: Request, plural: str) -> Iterator[Hook]:
    """Yield the webhooks of all configurations of a kind, by the configuration's name."""
    resource = request.find(GROUP, plural)
    records = resource.collection.well_formed(resource.prefix(""), "admission webhooks")
    if not records or Subject(request).exempt:
        return
    for record in records:
        configuration: Mapping[str, Any] = record.load()
        for raw in configuration.get("webhooks") or ():
            yield Hook(configuration["metadata"]["name"], raw, changes=plural.startswith("mutating"))
