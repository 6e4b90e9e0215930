"""The whole atlas: entries of all gates, played by several processes, and kept as JSON."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Final

import orjson

from mockkube.atlas.gate_entry import GateEntry, KepClaim
from mockkube.atlas.gate_readers import list_gates
from mockkube.atlas.gate_study import study_gate
from mockkube.atlas.gate_workload import GateWorkload, load_reasons, load_workloads
from mockkube.atlas.kep_claims import load_claims, load_upstream_readers
from mockkube.features.versions import DEFAULT
from mockkube.lazy_dataclasses import dataclass

JSON_FILE: Final = "atlas.json"


class UnknownGateError(Exception):
    """No binary of a supported version knows the gate."""


@dataclass(frozen=True, slots=True)
class GateTask:
    """Everything that is known about a gate before it is played."""

    gate: str
    workload: GateWorkload | None
    reason: str
    kep: KepClaim | None
    upstream_readers: tuple[str, ...] = ()

    def run(self) -> GateEntry:
        """Play the gate."""
        entry = study_gate(self.workload, self.gate, self.reason, self.kep)
        return replace(entry, upstream_readers=self.upstream_readers) if entry.readers else entry


def make_tasks(folder: Path, gates: Iterable[str] = ()) -> list[GateTask]:
    """Return the tasks of these gates, or of all; UnknownGateError for a name that no binary knows."""
    workloads, reasons, claims = load_workloads(folder), load_reasons(folder), load_claims(folder)
    readers = load_upstream_readers(folder)
    known = list_gates()
    chosen = tuple(gates) or known
    for gate in chosen:
        if gate not in known:
            raise UnknownGateError(gate)
    return [
        GateTask(gate, workloads.get(gate), reasons.get(gate, ""), claims.get(gate), readers.get(gate, ()))
        for gate in chosen
    ]


def play_tasks(
    tasks: Sequence[GateTask], workers: int, on_progress: Callable[[int], None] = lambda left: None
) -> list[GateEntry]:
    """Return the entries by gate; `on_progress` is called with the number of gates that are left."""
    entries: list[GateEntry] = []
    for entry in _play_in_processes(tasks, workers) if workers > 1 else (task.run() for task in tasks):
        entries.append(entry)
        on_progress(len(tasks) - len(entries))
    return sorted(entries, key=lambda entry: entry.gate)


def _play_in_processes(tasks: Sequence[GateTask], workers: int) -> Iterator[GateEntry]:
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        for future in as_completed([pool.submit(GateTask.run, task) for task in tasks]):
            yield future.result()


def save_entries(entries: Iterable[GateEntry], path: Path) -> None:
    """Write entries as JSON, one gate a line."""
    lines = ",\n".join(orjson.dumps(entry.to_json()).decode() for entry in entries)
    path.write_text(f'{{"defaultVersion": "{DEFAULT}", "gates": [\n{lines}\n]}}\n')


def load_entries(path: Path) -> list[GateEntry]:
    """Read entries that `save_entries` wrote."""
    return [GateEntry.from_json(one) for one in orjson.loads(path.read_bytes())["gates"]]


def merge_entries(entries: Iterable[GateEntry], path: Path) -> list[GateEntry]:
    """Return entries with those that a file has of other gates; a file that does not exist has none."""
    others = load_entries(path) if path.exists() else []
    found = {entry.gate: entry for entry in (*others, *entries)}
    return [found[gate] for gate in sorted(found)]
