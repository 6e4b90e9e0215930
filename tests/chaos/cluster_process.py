"""A control plane in a process of its own, which tests kill."""

import asyncio
import json
import os
import re
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from faults import Machine

NODES: Final = 2
START_SECONDS_MAX: Final = 120
STOP_SECONDS_MAX: Final = 60
CLUSTER: Final = "chaos"
ERROR: Final = re.compile(
    r"^\S+ \S+ (ERROR (?!mockkube\.watchdog|mockkube_storage\.engines\.log: .* refuses writes)|CRITICAL )|^Traceback",
    re.MULTILINE,
)
"""What must not be in the log. Busy machines stop the event loop for a while; a log on a full disk refuses writes."""
SHOWN_MAX: Final = 5000


@dataclass(slots=True)
class ClusterProcess:
    """One run of `mockkube up` on a state directory and a database that earlier runs have used."""

    home: Path
    process: asyncio.subprocess.Process
    log: Path

    @classmethod
    async def start(cls, home: Path, database: str = "", machine: Machine | None = None) -> "ClusterProcess":
        """Start the process and return at once; `wait_until_ready` returns once it answers."""
        ready_file, log = home / "ready.json", home / "log"
        ready_file.unlink(missing_ok=True)
        command = [sys.executable, "-m", "mockkube.cli", "up", "--name", CLUSTER, "--port", "0", "--no-tls"]
        command += ["--nodes", str(NODES), "--ready-file", str(ready_file)]
        command += ["--db", database] if database else []
        environment = {**(machine.environment if machine else os.environ), "XDG_STATE_HOME": str(home)}
        # Compiling all modules at each start would take longer than the start.
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        with log.open("wb") as stderr:
            process = await asyncio.create_subprocess_exec(
                *command, env=environment, stdout=asyncio.subprocess.DEVNULL, stderr=stderr
            )
        return cls(home, process, log)

    @property
    def state(self) -> Path:
        """The state directory of the cluster."""
        return self.home / "mockkube" / CLUSTER

    async def wait_until_ready(self) -> dict[str, Any]:
        """Return the content of the ready file."""
        path = self.home / "ready.json"
        async with asyncio.timeout(START_SECONDS_MAX):
            while not path.exists():
                if self.process.returncode is not None:
                    raise AssertionError(f"mockkube did not start: {self.log.read_text()[-3000:]}")
                await asyncio.sleep(0.01)
        ready: dict[str, Any] = json.loads(path.read_text())
        return ready

    async def kill(self) -> None:
        """End the process with SIGKILL."""
        if self.process.returncode is None:
            self.process.kill()
        await self.process.wait()

    async def terminate(self) -> int:
        """End the process with SIGTERM; return its exit code."""
        if self.process.returncode is None:
            self.process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(STOP_SECONDS_MAX):
            return await self.process.wait()

    def describe(self) -> str:
        """Return whether the process runs, or its exit code, and the end of its log."""
        code = self.process.returncode
        state = "the process runs" if code is None else f"the process ended with exit code {code}"
        return f"{state}; its log ends with: {self.log.read_text(errors='replace')[-SHOWN_MAX:]}"

    def find_error(self) -> str:
        """Return the first error in the log and what follows it; empty if there is none."""
        text = self.log.read_text(errors="replace")
        found = ERROR.search(text)
        return text[found.start() :][:SHOWN_MAX] if found else ""
