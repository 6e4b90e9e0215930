"""A PostgreSQL server of the tests' own, which they kill. It listens on a port of this machine and has a password."""

import asyncio
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any, Final

START_SECONDS_MAX: Final = 60.0
USER: Final = "mockkube"
SYSTEM_USER: Final = "postgres"
"""User of the operating system as whom the server runs if the tests run as root, which it refuses."""


@cache
def find_binaries() -> Path | None:
    """Return the directory of the newest server that can be started here; None if there is none."""
    if os.geteuid() == 0 and not _has_system_user():
        return None
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    if found:
        return found[-1].parent
    initdb = shutil.which("initdb")
    return Path(initdb).resolve().parent if initdb else None


def _has_system_user() -> bool:
    try:
        pwd.getpwnam(SYSTEM_USER)
    except KeyError:
        return False
    return True


class PostgresqlServer:
    """Process of a server and its data directory."""

    def __init__(self, binaries: Path) -> None:
        self._binaries = binaries
        self._home = Path(tempfile.mkdtemp())
        self._data = self._home / "data"
        self._process: subprocess.Popen[bytes] | None = None
        self._password = secrets.token_hex(16)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self._port = int(free.getsockname()[1])
        self.url = f"postgresql://{USER}:{self._password}@127.0.0.1:{self._port}/postgres"

    def create(self) -> None:
        """Create the data directory."""
        password_file = self._home / "password"
        password_file.write_text(self._password)
        for path in (self._home, password_file):
            os.chown(path, *self._owner)
        command = [f"{self._binaries}/initdb", f"--pgdata={self._data}", f"--username={USER}", "--encoding=UTF8"]
        command += ["--locale=C", "--auth=scram-sha-256", f"--pwfile={password_file}"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, **self._as_system_user)

    async def start(self) -> None:
        """Start the server; return when it accepts connections."""
        async with asyncio.timeout(START_SECONDS_MAX):
            while not await self._accepts_connections():
                # A server refuses to start as long as processes of the killed one have not ended.
                if self._process is None or self._process.poll() is not None:
                    self._process = self._run()
                await asyncio.sleep(0.05)

    async def restart(self, seconds: float) -> None:
        """Kill the server, and start it again so many seconds later."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        await asyncio.sleep(seconds)
        await self.start()

    def close(self) -> None:
        """Stop the server and remove its data."""
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait()
        shutil.rmtree(self._home)

    def _run(self) -> "subprocess.Popen[bytes]":
        # The data survive the end of processes without being synced.
        settings = ("listen_addresses=127.0.0.1", "unix_socket_directories=", f"port={self._port}", "fsync=off")
        command = [f"{self._binaries}/postgres", "-D", str(self._data)]
        command += [part for setting in settings for part in ("-c", setting)]
        with (self._home / "log").open("ab") as log:
            return subprocess.Popen(command, stdout=log, stderr=log, **self._as_system_user)

    async def _accepts_connections(self) -> bool:
        import asyncpg

        try:
            connection = await asyncpg.connect(self.url)
        except (OSError, asyncpg.PostgresError):
            return False
        await connection.close()
        return True

    @property
    def _owner(self) -> tuple[int, int]:
        if os.geteuid() != 0:
            return os.geteuid(), os.getegid()
        user = pwd.getpwnam(SYSTEM_USER)
        return user.pw_uid, user.pw_gid

    @property
    def _as_system_user(self) -> dict[str, Any]:
        """Arguments of a process that does not run as root."""
        owner, group = self._owner
        switch = {"user": owner, "group": group, "extra_groups": []} if os.geteuid() == 0 else {}
        return {"cwd": self._home, **switch}
