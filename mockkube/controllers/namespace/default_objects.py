"""serviceaccount-controller and root-ca-certificate-publisher-controller: default objects of every namespace.

The API server creates both itself when its admission requires service accounts
(`apiserver.post_start_hooks.namespace_defaults`); these controllers then find nothing to do.
upstream 1.36: pkg/controller/serviceaccount, pkg/controller/certificates/rootcacertpublisher
"""

from typing import ClassVar, Final

from mockkube.api.errors import AlreadyExists, ApiError, NotFound
from mockkube.client.informer import ObjectChange
from mockkube.client.protocol import Key, Selection, WatchEventType
from mockkube.controllers.framework.controller import DONE, Controller, ControllerDependencies, ReconcileResult
from mockkube.controllers.pods.pod_control import is_namespace_terminating
from mockkube.matching.namespace_defaults import (
    ROOT_CA,
    SERVICE_ACCOUNT,
    has_certificate,
    with_certificate,
)

# ConfigMap in which API servers publish the CA of their clients; in a mock the same CA signs the server's certificate.
_AUTHENTICATION_CONFIG_MAP: Final = Key("kube-system", "extension-apiserver-authentication")


class ServiceAccountsController(Controller):
    """Controller of the service account `default`; keys are namespaces."""

    name: ClassVar[str] = "serviceaccount-controller"
    queue_name: ClassVar[str] = "serviceaccount"

    def __init__(self, dependencies: ControllerDependencies) -> None:
        super().__init__(dependencies)
        self.namespaces = self.watched_informer("Namespace", self._on_namespace_change)
        self.accounts = self.informer("ServiceAccount")
        self.accounts.add_event_handler(self._on_account_change)

    def _on_namespace_change(self, change: ObjectChange) -> None:
        if change.type is not WatchEventType.DELETED:
            self.work_queue.add(Key("", change.object["metadata"]["name"]))

    def _on_account_change(self, change: ObjectChange) -> None:
        if change.type is WatchEventType.DELETED:
            self.work_queue.add(Key("", change.object["metadata"]["namespace"]))

    async def reconcile(self, key: Key) -> ReconcileResult:
        """Create the service account of an active namespace if it is missing."""
        namespace = self.namespaces.get(key)
        if namespace is None or namespace.get("status", {}).get("phase") != "Active":
            return DONE
        if self.accounts.get(Key(key.name, SERVICE_ACCOUNT)) is not None:
            return DONE
        try:
            await self.client.create("ServiceAccount", {"metadata": {"name": SERVICE_ACCOUNT, "namespace": key.name}})
        except AlreadyExists:
            return DONE
        except ApiError as error:
            if not is_namespace_terminating(error):
                raise
        return DONE


class RootCACertPublisher(Controller):
    """Publisher of the ConfigMap kube-root-ca.crt; keys are namespaces."""

    name: ClassVar[str] = "root-ca-certificate-publisher-controller"
    queue_name: ClassVar[str] = "root_ca_cert_publisher"

    def __init__(self, dependencies: ControllerDependencies) -> None:
        super().__init__(dependencies)
        self.watched_informer("Namespace", self._on_namespace_change)
        # Selected by name: ConfigMaps of users can be many and large, and are none of this controller's business.
        self.config_maps = self.informer("ConfigMap", Selection(fields=f"metadata.name={ROOT_CA}"))
        self.config_maps.add_event_handler(self._on_config_map_change)

    def _on_namespace_change(self, change: ObjectChange) -> None:
        active = change.object.get("status", {}).get("phase") == "Active"
        if change.type is WatchEventType.ADDED or (change.type is WatchEventType.MODIFIED and active):
            self.work_queue.add(Key("", change.object["metadata"]["name"]))

    def _on_config_map_change(self, change: ObjectChange) -> None:
        # An added one was created here; others may have been changed or deleted by users.
        if change.type is not WatchEventType.ADDED:
            self.work_queue.add(Key("", change.object["metadata"]["namespace"]))

    async def reconcile(self, key: Key) -> ReconcileResult:
        """Create the ConfigMap of a namespace, or restore its content."""
        config_map = self.config_maps.get(Key(key.name, ROOT_CA))
        certificate = await self._read_certificate()
        if config_map is None:
            await self._create_config_map(key.name, certificate)
        elif not has_certificate(config_map, certificate):
            await self.client.update("ConfigMap", with_certificate(config_map, certificate))
        return DONE

    async def _read_certificate(self) -> str:
        try:
            clients = await self.client.get("ConfigMap", _AUTHENTICATION_CONFIG_MAP)
        except NotFound:
            return ""
        text: str = clients.get("data", {}).get("client-ca-file", "")
        return text

    async def _create_config_map(self, namespace: str, certificate: str) -> None:
        metadata = {"name": ROOT_CA, "namespace": namespace}
        try:
            await self.client.create("ConfigMap", with_certificate({"metadata": metadata}, certificate))
        except (NotFound, AlreadyExists):
            return  # the namespace is gone, or the API server created it first
        except ApiError as error:
            if not is_namespace_terminating(error):
                raise
