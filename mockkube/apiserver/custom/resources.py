"""Build the resources of a CRD, one for each version."""

from dataclasses import replace

from mockkube.api.custom.codec import CustomResourceCodec
from mockkube.api.custom.crd import Crd, CrdVersion
from mockkube.apiserver.admission.chain import AdmissionChain
from mockkube.apiserver.custom.conversion_webhook import ConversionWebhook
from mockkube.apiserver.custom.resource import CrdFieldsUpdaters, CrdTerminating, CustomResource
from mockkube.apiserver.custom.webhook_converted_resource import (
    ConversionCache,
    WebhookConvertedResource,
    WebhookFieldsUpdaters,
)
from mockkube.apiserver.registry.resource import RegistryDependencies


def build_resources(
    definition: Crd, services: RegistryDependencies, *, is_terminating: bool = False
) -> list[CustomResource]:
    """Return a resource for each version, the storage version first."""
    codec = CustomResourceCodec(definition, services.codec)
    admission = (
        AdmissionChain([*services.admission.plugins, CrdTerminating()]) if is_terminating else services.admission
    )
    # The dependencies are copied with the CRD's codec; everything else is shared with the server.
    own = replace(services, codec=codec, admission=admission)
    storage = definition.storage_version
    versions = [storage, *(version for version in definition.served_versions() if version is not storage)]
    make = _with_webhook if definition.uses_conversion_webhook else _without_webhook
    resources = make(definition, versions, codec, own, is_terminating=is_terminating)
    for resource in resources:
        resource.storage_resource = resources[0]
    return resources


def _without_webhook(
    definition: Crd,
    versions: list[CrdVersion],
    codec: CustomResourceCodec,
    services: RegistryDependencies,
    *,
    is_terminating: bool,
) -> list[CustomResource]:
    """Return resources of versions without conversion: they differ only by name and schema."""
    own = replace(services, managed_fields_updaters=CrdFieldsUpdaters(definition, codec))
    return [CustomResource(definition, version, codec, own, is_terminating=is_terminating) for version in versions]


def _with_webhook(
    definition: Crd,
    versions: list[CrdVersion],
    codec: CustomResourceCodec,
    services: RegistryDependencies,
    *,
    is_terminating: bool,
) -> list[CustomResource]:
    """Return resources of versions that a webhook converts."""
    conversions = ConversionCache(ConversionWebhook(definition, services), codec)
    own = replace(services, managed_fields_updaters=WebhookFieldsUpdaters(definition, codec, conversions))
    return [
        WebhookConvertedResource(
            definition, version, codec, own, is_terminating=is_terminating, conversions=conversions
        )
        for version in versions
    ]
