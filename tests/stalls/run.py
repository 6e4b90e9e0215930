"""`make stalls`: sends the hostile requests of `corpus.jsonl`; none may hold the event loop for long.

`--search N` tries N requests of random kinds, fields, sizes and verbs instead, led by how long they stall, and prints
the worst as lines for the corpus. Stalls are compared with a normal request of the same run: on a slow machine both
are slow.
"""

import argparse
import asyncio
import json
import logging
import sys
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parent))
from play import Case, Measured, cases, player
from probe import MeasuredLoop

ATTEMPTS_MAX: Final = 3
"""A case above the budget is played again: a machine under load can make one long, but not each."""
STALL_RATIO_MAX: Final = 40
"""So many normal requests: 250 ms where a pod costs 6.3 ms of the loop, created, scheduled and run."""
PEAK_MIB_MAX: Final = 300


async def play_corpus(
    chosen: list[Case], *, components: bool = True, where: bool = False, http2: bool = False
) -> list[tuple[Measured, float]]:
    """Return what each case did, with the ratio of its stall to a normal request; print it, too."""
    found: list[tuple[Measured, float]] = []
    async with player(components=components, where=where, http2=http2) as playing:
        normal = await playing.normal_seconds()
        print(f"a normal request holds the loop for {normal * 1000:.2f} ms in all")
        for case in chosen:
            measured = await playing.play(case)
            for _ in range(ATTEMPTS_MAX - 1):
                if measured.stall_seconds / normal <= STALL_RATIO_MAX or measured.faults:
                    break
                again = await playing.play(case)
                measured = min(measured, again, key=lambda one: one.stall_seconds)
            ratio = measured.stall_seconds / normal
            found.append((measured, ratio))
            print(
                f"{measured.stall_seconds * 1000:7.0f} ms {ratio:6.0f} x  {measured.peak_mib:6.0f} MiB "
                f"{measured.peak_per_byte:5.1f} x  {measured.slowest_seconds:6.2f} s  {sorted(set(measured.statuses))} "
                f"{measured.name} {'; '.join(measured.faults)[:600]}"
                + (f"\n    turn of {measured.turn_seconds * 1000:.0f} ms: {measured.where}" if where else ""),
                flush=True,
            )
    return found


def verdict(found: list[tuple[Measured, float]]) -> list[str]:
    """Return what is wrong with what was measured."""
    wrong = [f"{one.name}: {'; '.join(one.faults)}" for one, _ in found if one.faults]
    wrong += [f"{one.name}: stalls as long as {ratio:.0f} requests" for one, ratio in found if ratio > STALL_RATIO_MAX]
    wrong += [f"{one.name}: takes {one.peak_mib:.0f} MiB" for one, _ in found if one.peak_mib > PEAK_MIB_MAX]
    return wrong


def main() -> int:
    """Run from the command line; 1 if a case is above the budget."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="parts of the names of cases")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="play each N-th case only")
    parser.add_argument("--search", type=int, default=0, metavar="N", help="try N random requests")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--components", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--http2", action="store_true", help="send the requests over HTTP/2")
    parser.add_argument("--where", action="store_true", help="show what the loop did in its longest turn")
    parser.add_argument("--file", help="cases of one's own instead of the corpus, one JSON object per line")
    given = parser.parse_args()
    logging.getLogger().setLevel(logging.WARNING)
    with asyncio.Runner(loop_factory=MeasuredLoop) as runner:
        if given.search:
            from search import search

            return search(runner, given, STALL_RATIO_MAX)
        lines = Path(given.file).read_text().splitlines() if given.file else []
        chosen = [json.loads(line) for line in lines if line] if given.file else cases(given.names)
        found = runner.run(
            play_corpus(chosen[:: given.every], components=given.components, where=given.where, http2=given.http2)
        )
    worst = max(found, key=lambda pair: pair[1])
    print(
        f"longest stall: {worst[0].stall_seconds * 1000:.0f} ms, as long as {worst[1]:.0f} requests ({worst[0].name})"
    )
    peak = max((one for one, _ in found), key=lambda one: one.peak_mib)
    print(f"peak memory: {peak.peak_mib:.0f} MiB ({peak.name})")
    wrong = verdict(found)
    print("\n".join(f"FOUND {line}" for line in wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
