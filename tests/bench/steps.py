"""Where a request's time goes: shares of the server's processor time by step, for POST and PATCH of pods.

`python tests/bench/steps.py` starts a server whose main thread notes its stack whenever it has used some milliseconds
of processor time, sends it the load of `make bench`, and prints a table. A sample belongs to the innermost step that
it was in.
"""

import argparse
import os
import runpy
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from types import FrameType

from run import QUIET, Server, load

SAMPLED = "MOCKKUBE_BENCH_SAMPLES"
INTERVAL_SECONDS = 0.001  # a kernel has its own idea of the shortest one: four milliseconds are usual
CONNECTION = "connection: TLS, HTTP, the task of the request, response"
# What the frames of a step contain, function or file, in the order in which a request meets the steps.
STEPS = {
    CONNECTION: ("respond_object (",),
    "listener, authentication, authorization, routing, metrics": (
        "Router.",
        "RequestGate.",
        "FailedAuthenticationThrottle.",
        "FaultInjectionMiddleware.",
        "/http/filters/",
        "/apiserver/authorization/",
    ),
    "read the body, parse, look for duplicate fields": (
        "read_body (",
        "parse_document (",
        "find_repeats (",
        "Patch.parse (",
        "_check_patch (",
        "_decode_object (",
    ),
    "decode by the schema, set defaults": ("Resource.decode (", "Codec.", "Resource.complete (", "_decode_patched ("),
    "decode the stored object twice, apply the patch": ("CachedObject.load", ".load_again (", "apply_patch ("),
    "managedFields": ("update_managed_fields (", "keep_timestamps ("),
    "admission": ("AdmissionChain.", "/apiserver/admission/"),
    "strategy: prepare, validate, warnings": (
        "prepare_for_",
        "Strategy.",
        "validate_metadata (",
        "_find_errors (",
        "_validate (",
        "_prepare (",
    ),
    "encode, store, watch cache": (
        "encode_for_store (",
        "_store (",
        "_store_update (",
        "WatchCache.",
        "mockkube_storage",
    ),
    "registry: from step to step": (
        "/registry/creation.py",
        "/registry/updating.py",
        "/registry/patching.py",
        "resource_handlers.py",
    ),
}


def find_step(stack: list[str]) -> str:
    """Return the innermost step of a stack, whose innermost frame comes first."""
    for frame in stack:
        for step, parts in STEPS.items():
            if any(part in frame for part in parts):
                return step
    return CONNECTION


def serve() -> None:
    """Run mockkube; SIGUSR1 begins to take samples, and ends it."""
    samples: Counter[str] = Counter()
    path = Path(os.environ[SAMPLED])

    def sample(_signal: int, frame: FrameType | None) -> None:
        stack = []
        while frame is not None:
            stack.append(f"{frame.f_code.co_qualname} ({frame.f_code.co_filename})")
            frame = frame.f_back
        samples[find_step(stack)] += 1

    def toggle(_signal: int, _frame: FrameType | None) -> None:
        if signal.getitimer(signal.ITIMER_PROF)[1]:
            signal.setitimer(signal.ITIMER_PROF, 0)
            partial = path.with_suffix(".partial")
            partial.write_text("".join(f"{count} {step}\n" for step, count in samples.items()))
            partial.rename(path)
        else:
            signal.setitimer(signal.ITIMER_PROF, INTERVAL_SECONDS, INTERVAL_SECONDS)

    signal.signal(signal.SIGPROF, sample)
    signal.signal(signal.SIGUSR1, toggle)
    sys.argv[0] = "mockkube"
    runpy.run_module("mockkube", run_name="__main__", alter_sys=True)


def measure(verb: str, count: int) -> tuple[Counter[str], int]:
    """Return the samples of each step, and the microseconds of processor time of a request."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "samples"
        os.environ[SAMPLED] = str(path)
        server = Server(Path(folder), "memory", QUIET, program=(str(Path(__file__).resolve()), "--serve"))
        try:
            if verb == "PATCH":
                load(server, "POST", 16, 1000)
            server.process.send_signal(signal.SIGUSR1)
            answer = load(server, verb, 16, count)
            server.process.send_signal(signal.SIGUSR1)
            while not path.exists():
                time.sleep(0.01)
        finally:
            server.stop()
        lines = [line.split(" ", 1) for line in path.read_text().splitlines()]
        return Counter({step: int(number) for number, step in lines}), answer["cpu"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=20_000, help="requests of each verb")
    columns = {verb: measure(verb, parser.parse_args().count) for verb in ("POST", "PATCH")}
    print(f"{'':60}" + "".join(f"{verb:>8}" for verb in columns))
    for step in STEPS:
        print(f"{step:60}" + "".join(f"{samples[step] / samples.total():8.0%}" for samples, _ in columns.values()))
    print(f"{'samples':60}" + "".join(f"{samples.total():8}" for samples, _ in columns.values()))
    print(f"{'µs of the server per request':60}" + "".join(f"{cpu:8}" for _, cpu in columns.values()))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        del sys.argv[1]
        serve()
    else:
        main()
