"""Credentials that all processes of a control plane share: one encrypted record in the store.

The first process creates the record from its own credentials; the others take over what is there.
"""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, Self

from mockkube_storage.errors import Conflict
from mockkube_storage.model import Entry
from mockkube_storage.store import Store

from mockkube.apiserver.registry.watch_cache import SHARED_PREFIX
from mockkube.cluster.configuration.errors import StartError
from mockkube.cluster.replication.sealed_text import WrongSecretError, seal, unseal
from mockkube.cluster.state.atomic_files import write_once
from mockkube.cluster.state.certificates import Authorities
from mockkube.cluster.state.state_directory import make_unwritable_error
from mockkube.lazy_dataclasses import dataclass
from mockkube.runtime.random import Random

KEY: Final = f"{SHARED_PREFIX}credentials"
CLUSTER_ID_DEFAULT: Final = "default"
_FORMAT: Final = 1


@dataclass(frozen=True, slots=True)
class ClusterKey:
    """Secret that encrypts the record, and its file if it was not given."""

    secret: str
    generated_at: Path | None = None

    @classmethod
    def load_or_create(cls, path: Path, random: Random) -> Self:
        """Return the key in a file; create it if it is missing. Raises StartError."""
        try:
            return cls(write_once(path, random.new_token() + "\n").strip(), path)
        except OSError as error:
            raise make_unwritable_error(path.parent, error) from None

    def describe_remedy(self) -> str:
        """Return what to do if this is not the key of the record."""
        if self.generated_at is None:
            return "give the key that its first process was given, with --cluster-key-file or MOCKKUBE_CLUSTER_KEY"
        return (
            "give its key with --cluster-key-file; if it was given none, that is the file "
            f"{self.generated_at.name} beside the state directories on the machine of its first process"
        )


@dataclass(frozen=True, slots=True)
class SharedCredentials:
    """Credentials of a control plane: CAs, token of the administrator, and key that signs service account tokens."""

    authorities: Authorities
    token: str
    # PEM.
    signing_key: str

    async def share(self, store: Store, cluster_id: str, key: ClusterKey) -> Self:
        """Return the credentials of the control plane that uses the store: these, if they are the first.

        An empty id stands for any control plane. Raises StartError, and then nothing is changed.
        """
        entry = await store.get(KEY)
        if entry is None:
            try:
                await store.create(KEY, self._encode(cluster_id or CLUSTER_ID_DEFAULT, key))
            except Conflict as conflict:
                entry = conflict.current or await store.get(KEY)
        return self if entry is None else self._decode(entry, cluster_id, key)

    def _encode(self, cluster_id: str, key: ClusterKey) -> bytes:
        sealed = seal(json.dumps(asdict(self)), key.secret, cluster_id)
        return json.dumps({"format": _FORMAT, "clusterId": cluster_id, "sealed": sealed}).encode()

    @classmethod
    def _decode(cls, entry: Entry, cluster_id: str, key: ClusterKey) -> Self:
        try:
            record: dict[str, Any] = json.loads(entry.value)
            present = record["clusterId"]
            if record["format"] != _FORMAT:
                raise StartError("the credentials in the database are those of a newer mockkube: use that one")
            if cluster_id not in ("", present):
                raise StartError(
                    f"--cluster-id: the database is that of control plane {present!r}, not {cluster_id!r}: "
                    "give another --db, or leave out --cluster-id"
                )
            fields = json.loads(unseal(record["sealed"], key.secret, present))
            return cls(Authorities(**fields["authorities"]), fields["token"], fields["signing_key"])
        except WrongSecretError:
            raise StartError(
                f"the credentials of control plane {present!r} in the database are encrypted with another key: "
                f"{key.describe_remedy()}"
            ) from None
        except (ValueError, KeyError, TypeError) as error:
            raise StartError(f"the credentials in the database are damaged ({error}): give another --db") from None
