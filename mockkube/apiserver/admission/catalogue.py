"""Catalogue of admission plugins: the order in which they run, and which are enabled by default."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from mockkube.apiserver.admission.always_deny import AlwaysDeny
from mockkube.apiserver.admission.always_pull_images import AlwaysPullImages
from mockkube.apiserver.admission.certificates import (
    CertificateApproval,
    CertificateSigning,
    CertificateSubjectRestriction,
    ClusterTrustBundleAttest,
)
from mockkube.apiserver.admission.default_classes import DefaultIngressClass, DefaultStorageClass
from mockkube.apiserver.admission.default_toleration_seconds import DefaultTolerationSeconds
from mockkube.apiserver.admission.deny_service_external_ips import DenyServiceExternalIPs
from mockkube.apiserver.admission.extended_resource_toleration import ExtendedResourceToleration
from mockkube.apiserver.admission.limit_pod_hard_anti_affinity_topology import LimitPodHardAntiAffinityTopology
from mockkube.apiserver.admission.limit_ranger import LimitRanger
from mockkube.apiserver.admission.namespace_exists import NamespaceExists
from mockkube.apiserver.admission.namespace_lifecycle import NamespaceLifecycle
from mockkube.apiserver.admission.node_restriction import NodeRestriction
from mockkube.apiserver.admission.persistent_volume_claim_resize import PersistentVolumeClaimResize
from mockkube.apiserver.admission.pod_node_selector import PodNodeSelector
from mockkube.apiserver.admission.pod_resize_validator import PodResizeValidator
from mockkube.apiserver.admission.pod_security import PodSecurity
from mockkube.apiserver.admission.pod_toleration_restriction import PodTolerationRestriction
from mockkube.apiserver.admission.pod_topology_labels import PodTopologyLabels
from mockkube.apiserver.admission.policies.mutating import MutatingAdmissionPolicy
from mockkube.apiserver.admission.policies.validating import ValidatingAdmissionPolicy
from mockkube.apiserver.admission.priority import Priority
from mockkube.apiserver.admission.resource_quota import ResourceQuota
from mockkube.apiserver.admission.runtime_class import RuntimeClass
from mockkube.apiserver.admission.service_account import ServiceAccount
from mockkube.apiserver.admission.storage_object_in_use_protection import StorageObjectInUseProtection
from mockkube.apiserver.admission.taint_nodes_by_condition import TaintNodesByCondition
from mockkube.apiserver.admission.webhooks.plugins import MutatingAdmissionWebhook, ValidatingAdmissionWebhook
from mockkube.apiserver.registry.admission import Plugin


@dataclass(frozen=True, slots=True)
class Entry:
    """Admission plugin of upstream; without `make` its name is accepted, but it does nothing here."""

    name: str
    make: Callable[[], Plugin] | None = None
    # Whether it is enabled unless disabled by name.
    on: bool = False


# upstream 1.36: pkg/kubeapiserver/options/plugins.go
PLUGINS: Final = (
    Entry("AlwaysAdmit"),
    Entry("NamespaceAutoProvision"),
    Entry("NamespaceLifecycle", NamespaceLifecycle, on=True),
    Entry("NamespaceExists", NamespaceExists),
    Entry("LimitPodHardAntiAffinityTopology", LimitPodHardAntiAffinityTopology),
    Entry("LimitRanger", LimitRanger, on=True),
    Entry("ServiceAccount", ServiceAccount, on=True),
    Entry("NodeRestriction", NodeRestriction),
    Entry("TaintNodesByCondition", TaintNodesByCondition, on=True),
    Entry("AlwaysPullImages", AlwaysPullImages),
    Entry("ImagePolicyWebhook"),
    Entry("PodSecurity", PodSecurity, on=True),
    Entry("PodNodeSelector", PodNodeSelector),
    Entry("Priority", Priority, on=True),
    Entry("DefaultTolerationSeconds", DefaultTolerationSeconds, on=True),
    Entry("PodTolerationRestriction", PodTolerationRestriction),
    Entry("EventRateLimit"),
    Entry("ExtendedResourceToleration", ExtendedResourceToleration),
    Entry("DefaultStorageClass", DefaultStorageClass, on=True),
    Entry("StorageObjectInUseProtection", StorageObjectInUseProtection, on=True),
    Entry("PodGroupProtection", on=True),
    Entry("OwnerReferencesPermissionEnforcement"),
    Entry("PersistentVolumeClaimResize", PersistentVolumeClaimResize, on=True),
    Entry("RuntimeClass", RuntimeClass, on=True),
    Entry("CertificateApproval", CertificateApproval, on=True),
    Entry("CertificateSigning", CertificateSigning, on=True),
    Entry("ClusterTrustBundleAttest", ClusterTrustBundleAttest, on=True),
    Entry("CertificateSubjectRestriction", CertificateSubjectRestriction, on=True),
    Entry("DefaultIngressClass", DefaultIngressClass, on=True),
    Entry("DenyServiceExternalIPs", DenyServiceExternalIPs),
    Entry("PodTopologyLabels", PodTopologyLabels, on=True),
    Entry("PodGroupWorkloadExists", on=True),
    Entry("NodeDeclaredFeatureValidator", on=True),
    Entry("JobValidation", on=True),
    Entry("PodResizeValidator", PodResizeValidator, on=True),
    Entry("MutatingAdmissionPolicy", MutatingAdmissionPolicy, on=True),
    Entry("MutatingAdmissionWebhook", MutatingAdmissionWebhook, on=True),
    Entry("ValidatingAdmissionPolicy", ValidatingAdmissionPolicy, on=True),
    Entry("ValidatingAdmissionWebhook", ValidatingAdmissionWebhook, on=True),
    Entry("ResourceQuota", ResourceQuota, on=True),
    Entry("AlwaysDeny", AlwaysDeny),
)


def flag_errors(enable: Sequence[str], disable: Sequence[str]) -> list[str]:
    """Return the errors in --enable-admission-plugins and --disable-admission-plugins."""
    # upstream 1.36: apiserver/pkg/server/options/admission.go, Validate
    known = {entry.name for entry in PLUGINS}
    errors = [f'enable-admission-plugins plugin "{name}" is unknown' for name in enable if name not in known]
    errors += [f'disable-admission-plugins plugin "{name}" is unknown' for name in disable if name not in known]
    both = sorted(set(enable) & set(disable))
    if both:
        errors.append(f"[{' '.join(both)}] in enable-admission-plugins and disable-admission-plugins overlapped")
    return errors


def build(enable: Sequence[str] = (), disable: Sequence[str] = ()) -> list[Plugin]:
    """Return the plugins of a server, in order; raise ValueError with one line for each error in the flags."""
    errors = flag_errors(enable, disable)
    if errors:
        raise ValueError("\n".join(errors))
    wanted = [entry for entry in PLUGINS if entry.name in enable or (entry.on and entry.name not in disable)]
    return [entry.make() for entry in wanted if entry.make is not None]
