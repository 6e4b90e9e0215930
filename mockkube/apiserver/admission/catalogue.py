"""Catalogue of admission plugins: the order in which they run, and which are enabled by default."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from mockkube.apiserver.admission.deferred_plugins import (
    DeferredMutatingAdmissionPolicy,
    DeferredMutatingAdmissionWebhook,
    DeferredValidatingAdmissionPolicy,
    DeferredValidatingAdmissionWebhook,
)
from mockkube.apiserver.admission.plugins.always_deny import AlwaysDeny
from mockkube.apiserver.admission.plugins.always_pull_images import AlwaysPullImages
from mockkube.apiserver.admission.plugins.certificates import (
    CertificateApproval,
    CertificateSigning,
    CertificateSubjectRestriction,
    ClusterTrustBundleAttest,
)
from mockkube.apiserver.admission.plugins.default_classes import DefaultIngressClass, DefaultStorageClass
from mockkube.apiserver.admission.plugins.default_toleration_seconds import DefaultTolerationSeconds
from mockkube.apiserver.admission.plugins.deny_service_external_ips import DenyServiceExternalIPs
from mockkube.apiserver.admission.plugins.extended_resource_toleration import ExtendedResourceToleration
from mockkube.apiserver.admission.plugins.limit_pod_hard_anti_affinity_topology import LimitPodHardAntiAffinityTopology
from mockkube.apiserver.admission.plugins.limit_ranger import LimitRanger
from mockkube.apiserver.admission.plugins.namespace_exists import NamespaceExists
from mockkube.apiserver.admission.plugins.namespace_lifecycle import NamespaceLifecycle
from mockkube.apiserver.admission.plugins.node_restriction import NodeRestriction
from mockkube.apiserver.admission.plugins.persistent_volume_claim_resize import PersistentVolumeClaimResize
from mockkube.apiserver.admission.plugins.pod_node_selector import PodNodeSelector
from mockkube.apiserver.admission.plugins.pod_resize_validator import PodResizeValidator
from mockkube.apiserver.admission.plugins.pod_security import PodSecurity
from mockkube.apiserver.admission.plugins.pod_toleration_restriction import PodTolerationRestriction
from mockkube.apiserver.admission.plugins.pod_topology_labels import PodTopologyLabels
from mockkube.apiserver.admission.plugins.priority import Priority
from mockkube.apiserver.admission.plugins.resource_quota import ResourceQuota
from mockkube.apiserver.admission.plugins.runtime_class import RuntimeClass
from mockkube.apiserver.admission.plugins.service_account import ServiceAccount
from mockkube.apiserver.admission.plugins.storage_object_in_use_protection import StorageObjectInUseProtection
from mockkube.apiserver.admission.plugins.taint_nodes_by_condition import TaintNodesByCondition
from mockkube.apiserver.registry.admission import AdmissionPlugin
from mockkube.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AdmissionPluginEntry:
    """Admission plugin of upstream; without `make` its name is accepted, but it does nothing here."""

    name: str
    make: Callable[[], AdmissionPlugin] | None = None
    # Whether it is enabled unless disabled by name.
    is_default: bool = False


# upstream 1.36: pkg/kubeapiserver/options/plugins.go
PLUGINS: Final = (
    AdmissionPluginEntry("AlwaysAdmit"),
    AdmissionPluginEntry("NamespaceAutoProvision"),
    AdmissionPluginEntry("NamespaceLifecycle", NamespaceLifecycle, is_default=True),
    AdmissionPluginEntry("NamespaceExists", NamespaceExists),
    AdmissionPluginEntry("LimitPodHardAntiAffinityTopology", LimitPodHardAntiAffinityTopology),
    AdmissionPluginEntry("LimitRanger", LimitRanger, is_default=True),
    AdmissionPluginEntry("ServiceAccount", ServiceAccount, is_default=True),
    AdmissionPluginEntry("NodeRestriction", NodeRestriction),
    AdmissionPluginEntry("TaintNodesByCondition", TaintNodesByCondition, is_default=True),
    AdmissionPluginEntry("AlwaysPullImages", AlwaysPullImages),
    AdmissionPluginEntry("ImagePolicyWebhook"),
    AdmissionPluginEntry("PodSecurity", PodSecurity, is_default=True),
    AdmissionPluginEntry("PodNodeSelector", PodNodeSelector),
    AdmissionPluginEntry("Priority", Priority, is_default=True),
    AdmissionPluginEntry("DefaultTolerationSeconds", DefaultTolerationSeconds, is_default=True),
    AdmissionPluginEntry("PodTolerationRestriction", PodTolerationRestriction),
    AdmissionPluginEntry("EventRateLimit"),
    AdmissionPluginEntry("ExtendedResourceToleration", ExtendedResourceToleration),
    AdmissionPluginEntry("DefaultStorageClass", DefaultStorageClass, is_default=True),
    AdmissionPluginEntry("StorageObjectInUseProtection", StorageObjectInUseProtection, is_default=True),
    AdmissionPluginEntry("PodGroupProtection", is_default=True),
    AdmissionPluginEntry("OwnerReferencesPermissionEnforcement"),
    AdmissionPluginEntry("PersistentVolumeClaimResize", PersistentVolumeClaimResize, is_default=True),
    AdmissionPluginEntry("RuntimeClass", RuntimeClass, is_default=True),
    AdmissionPluginEntry("CertificateApproval", CertificateApproval, is_default=True),
    AdmissionPluginEntry("CertificateSigning", CertificateSigning, is_default=True),
    AdmissionPluginEntry("ClusterTrustBundleAttest", ClusterTrustBundleAttest, is_default=True),
    AdmissionPluginEntry("CertificateSubjectRestriction", CertificateSubjectRestriction, is_default=True),
    AdmissionPluginEntry("DefaultIngressClass", DefaultIngressClass, is_default=True),
    AdmissionPluginEntry("DenyServiceExternalIPs", DenyServiceExternalIPs),
    AdmissionPluginEntry("PodTopologyLabels", PodTopologyLabels, is_default=True),
    AdmissionPluginEntry("PodGroupWorkloadExists", is_default=True),
    AdmissionPluginEntry("NodeDeclaredFeatureValidator", is_default=True),
    AdmissionPluginEntry("JobValidation", is_default=True),
    AdmissionPluginEntry("PodResizeValidator", PodResizeValidator, is_default=True),
    AdmissionPluginEntry("MutatingAdmissionPolicy", DeferredMutatingAdmissionPolicy, is_default=True),
    AdmissionPluginEntry("MutatingAdmissionWebhook", DeferredMutatingAdmissionWebhook, is_default=True),
    AdmissionPluginEntry("ValidatingAdmissionPolicy", DeferredValidatingAdmissionPolicy, is_default=True),
    AdmissionPluginEntry("ValidatingAdmissionWebhook", DeferredValidatingAdmissionWebhook, is_default=True),
    AdmissionPluginEntry("ResourceQuota", ResourceQuota, is_default=True),
    AdmissionPluginEntry("AlwaysDeny", AlwaysDeny),
)


def validate_flags(enable: Sequence[str], disable: Sequence[str], only: Sequence[str] = ()) -> list[str]:
    """Return the errors in --enable-admission-plugins, --disable-admission-plugins and --admission-control."""
    # upstream 1.36: pkg/kubeapiserver/options/admission.go and apiserver/pkg/server/options/admission.go, Validate
    known = {entry.name for entry in PLUGINS}
    flags = (("admission-control", only), ("enable-admission-plugins", enable), ("disable-admission-plugins", disable))
    errors = [f'{flag} plugin "{name}" is unknown' for flag, names in flags for name in names if name not in known]
    both = sorted(set(enable) & set(disable))
    if both:
        errors.append(f"[{' '.join(both)}] in enable-admission-plugins and disable-admission-plugins overlapped")
    return errors


def list_plugins_besides(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of all other plugins, which --admission-control disables."""
    return tuple(entry.name for entry in PLUGINS if entry.name not in names)


def build_plugins(
    enable: Sequence[str] = (),
    disable: Sequence[str] = (),
    configured: Mapping[str, Callable[[], AdmissionPlugin]] = MappingProxyType({}),
) -> list[AdmissionPlugin]:
    """Return the plugins of a server, in order; raise ValueError with one line for each error in the flags.

    Functions by name make the plugins that have options of their own.
    """
    errors = validate_flags(enable, disable)
    if errors:
        raise ValueError("\n".join(errors))
    wanted = [entry for entry in PLUGINS if entry.name in enable or (entry.is_default and entry.name not in disable)]
    makers = (configured.get(entry.name, entry.make) for entry in wanted)
    return [make() for make in makers if make is not None]
