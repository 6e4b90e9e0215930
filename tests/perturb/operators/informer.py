"""A small controller library of the standard library: requests, caches as informers keep them, a queue of keys."""

import base64
import http.client
import json
import os
import queue
import ssl
import tempfile
import threading
import time
from urllib.parse import urlsplit

import yaml

DATABASES = "/apis/example.com/v1/namespaces/default/databases"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
SERVICES = "/api/v1/namespaces/default/services"
IS_FIXED = os.environ.get("OPERATOR") == "fixed"
_RETRY_SECONDS = 0.2


class ApiError(Exception):
    """An answer that is an error."""

    def __init__(self, status, body):
        super().__init__(f"{status} {body.get('reason')}: {body.get('message')}")
        self.status = status


class Client:
    """Requests with the credentials of KUBECONFIG; each thread has a connection of its own."""

    def __init__(self):
        with open(os.environ["KUBECONFIG"]) as file:
            config = yaml.safe_load(file)
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self._host = urlsplit(cluster["server"]).netloc
        authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        self._tls = ssl.create_default_context(cadata=authority)
        with tempfile.NamedTemporaryFile("w", suffix=".pem") as pem:
            for name in ("client-certificate-data", "client-key-data"):
                pem.write(base64.b64decode(user[name]).decode())
            pem.flush()
            self._tls.load_cert_chain(pem.name)
        self._local = threading.local()

    def open(self, path):
        connection = http.client.HTTPSConnection(self._host, context=self._tls)
        connection.request("GET", path)
        return connection.getresponse()

    def request(self, method, path, body=None, media="application/json"):
        """Return the decoded answer; ApiError for an error."""
        data = None if body is None else json.dumps(body)
        for attempt in (0, 1):
            connection = getattr(self._local, "connection", None)
            if connection is None:
                connection = self._local.connection = http.client.HTTPSConnection(self._host, context=self._tls)
            try:
                connection.request(method, path, data, {"Content-Type": media})
                response = connection.getresponse()
                answer = json.loads(response.read() or b"{}")
                break
            except (OSError, http.client.HTTPException):
                self._local.connection = None
                if attempt:
                    raise
        if response.status >= 400:
            raise ApiError(response.status, answer)
        return answer

    def get(self, path):
        """Return an object; None if it does not exist."""
        try:
            return self.request("GET", path)
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def create(self, path, obj):
        return self.request("POST", path, obj)

    def update(self, path, obj):
        return self.request("PUT", f"{path}/{obj['metadata']['name']}", obj)

    def patch(self, path, patch):
        return self.request("PATCH", path, patch, "application/merge-patch+json")

    def delete(self, path):
        """Delete an object, if it exists."""
        try:
            self.request("DELETE", path)
        except ApiError as error:
            if error.status != 404:
                raise


class Cache:
    """Objects of one collection as an informer sees them: listed from the server's cache, then watched."""

    def __init__(self, client, path, on_event):
        self._client, self._path, self._on_event = client, path, on_event
        self._objects = {}
        self.has_synced = threading.Event()
        threading.Thread(target=self._run, daemon=True).start()

    def get(self, name):
        return self._objects.get(name)

    def list(self):
        return list(self._objects.values())

    def _run(self):
        version = None
        while True:
            try:
                if version is None:
                    version = self._replace(self._client.request("GET", f"{self._path}?resourceVersion=0"))
                version = self._watch(version)
            except (ApiError, OSError, http.client.HTTPException, ValueError) as error:
                if isinstance(error, ApiError) and error.status == 410:
                    version = None
                time.sleep(_RETRY_SECONDS)

    def _replace(self, listed):
        found = {obj["metadata"]["name"]: obj for obj in listed["items"]}
        gone = [obj for name, obj in self._objects.items() if name not in found]
        self._objects = found
        for obj in found.values():
            self._on_event("MODIFIED", obj)
        for obj in gone:
            self._on_event("DELETED", obj)
        self.has_synced.set()
        return listed["metadata"]["resourceVersion"]

    def _watch(self, version):
        response = self._client.open(f"{self._path}?watch=true&resourceVersion={version}")
        if response.status != 200:
            raise ApiError(response.status, json.loads(response.read()))
        for line in response:
            event = json.loads(line)
            obj = event["object"]
            if event["type"] == "ERROR":
                raise ApiError(obj["code"], obj)
            version = obj["metadata"]["resourceVersion"]
            if event["type"] == "DELETED":
                self._objects.pop(obj["metadata"]["name"], None)
            else:
                self._objects[obj["metadata"]["name"]] = obj
            self._on_event(event["type"], obj)
        return version


class Controller:
    """Calls `reconcile` with the names of databases, again after errors."""

    def __init__(self, owner_of=lambda obj: obj["metadata"].get("labels", {}).get("database")):
        self.client = Client()
        self._queue = queue.Queue()
        self._queued = set()
        self._lock = threading.Lock()
        self.databases = Cache(self.client, DATABASES, lambda _, obj: self.add(obj["metadata"]["name"]))
        self.children = Cache(self.client, CONFIG_MAPS, lambda _, obj: owner_of(obj) and self.add(owner_of(obj)))

    def add(self, name):
        with self._lock:
            if name not in self._queued:
                self._queued.add(name)
                self._queue.put(name)

    def run(self, reconcile):
        self.databases.has_synced.wait()
        self.children.has_synced.wait()
        while True:
            name = self._queue.get()
            with self._lock:
                self._queued.discard(name)
            try:
                reconcile(name)
            except (ApiError, OSError, http.client.HTTPException) as error:
                print(f"{name}: {error}", flush=True)
                threading.Timer(_RETRY_SECONDS, self.add, (name,)).start()


def config_map(database, name, data=None):
    """Return a ConfigMap of a database."""
    metadata = {"name": name, "labels": {"database": database}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data or {}}
