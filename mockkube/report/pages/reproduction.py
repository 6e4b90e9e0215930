"""Commands that reproduce an exploration, with their exit status."""

from collections.abc import Iterator
from typing import Final

from mockkube.explore.replay import UNDISTURBED
from mockkube.report.sentences.answer import Answer
from mockkube.report.wording import tool_name

# mockkube is not on PyPI.
INSTALL: Final = "pip install /path/to/mockkube"


def list_commands(answer: Answer) -> Iterator[str]:
    """Yield the steps: install, save the plan, run the commands."""
    plan = answer.plan
    seed = f" --seed {plan.seed}"
    yield f"Install {tool_name()} (Python 3.11 or newer) from its source: `{INSTALL}`."
    yield f"Save the plan below as `{plan.name}.yaml`."
    refuted = [written.name for written, _ in answer.result.refuted_claims]
    because = (
        f" since {len(refuted)} documented order{'s' * (len(refuted) > 1)} claimed to be safe "
        f"{'are' if len(refuted) > 1 else 'is'} not"
    )
    # The exit status depends on written claims only: an unsafe order that no document calls safe is no failure.
    status = f"1,{because}" if refuted else "0: every documented order claimed to be safe is"
    yield f"`mockkube explore {plan.name}.yaml{seed} --report report.html` writes this page. Exit status: {status}."
    yield f"`mockkube explore {plan.name}.yaml{seed} -o md` writes the answers to a Production Readiness Review."
    if answer.result.counterexamples:
        name = answer.result.counterexamples[0].invariant
        yield (
            f"`mockkube explore {plan.name}.yaml{seed} --trace {name} > broken.yaml; mockkube test -v "
            "broken.yaml` runs a shortest path that breaks an invariant. Exit status: 0 if the harm is reproduced."
        )
    if answer.undisturbed_harm is not None:
        yield (
            f"`mockkube explore {plan.name}.yaml{seed} --trace {UNDISTURBED} > gone.yaml; mockkube test -v gone.yaml` "
            "runs the rollback without disturbances. Exit status: 0 if pods are gone at its end."
        )
    yield "The same plan, seed and version give the same page, byte for byte."
