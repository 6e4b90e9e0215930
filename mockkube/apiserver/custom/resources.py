"""Build the resources of a CRD, one for each version."""

from dataclasses import replace

from mockkube.api.custom.codec import CustomCodec
from mockkube.api.custom.definition import CustomVersion, Definition
from mockkube.apiserver.admission.chain import Chain
from mockkube.apiserver.custom.conversion import Converter
from mockkube.apiserver.custom.converted import Conversions, ConvertedResource, ConvertedTrackers
from mockkube.apiserver.custom.resource import CustomResource, CustomTrackers, Ending
from mockkube.apiserver.registry.resource import Services


def resources_of(definition: Definition, services: Services, *, ending: bool = False) -> list[CustomResource]:
    """Return a resource for each version, the storage version first."""
    codec = CustomCodec(definition, services.codec)
    admission = Chain([*services.admission.plugins, Ending()]) if ending else services.admission
    # The dependencies are copied with the CRD's codec; everything else is shared with the server.
    own = replace(services, codec=codec, admission=admission)
    storage = definition.home
    versions = [storage, *(version for version in definition.served() if version is not storage)]
    made = _converted if definition.converts else _renamed
    resources = made(definition, versions, codec, own, ending=ending)
    for resource in resources:
        resource.home = resources[0]
    return resources


def _renamed(
    definition: Definition, versions: list[CustomVersion], codec: CustomCodec, services: Services, *, ending: bool
) -> list[CustomResource]:
    """Return resources of versions without conversion: they differ only by name and schema."""
    own = replace(services, trackers=CustomTrackers(definition, codec))
    return [CustomResource(definition, version, codec, own, ending=ending) for version in versions]


def _converted(
    definition: Definition, versions: list[CustomVersion], codec: CustomCodec, services: Services, *, ending: bool
) -> list[CustomResource]:
    """Return resources of versions that a webhook converts."""
    conversions = Conversions(Converter(definition, services), codec)
    own = replace(services, trackers=ConvertedTrackers(definition, codec, conversions))
    return [
        ConvertedResource(definition, version, codec, own, ending=ending, conversions=conversions)
        for version in versions
    ]
