"""Play the baseline and all variants, one after the other, from the same state."""

from collections.abc import Callable, Sequence
from typing import Final

from mockkube.whatif.base import WhatIfBase
from mockkube.whatif.results import WhatIfResult
from mockkube.whatif.variant_player import PlayOptions, WhatIfVariant, play_variant

BASELINE: Final = "baseline"
# Called with the name of the variant that is played next, its number and their total.
OnProgress = Callable[[str, int, int], None]


async def play_what_if(
    base: WhatIfBase, variants: Sequence[WhatIfVariant], options: PlayOptions, on_progress: OnProgress
) -> WhatIfResult:
    """Return the results of the cluster without a change and with the changes of each variant."""
    # The baseline comes last: a change that has nothing to change is reported without waiting for it.
    played = [*variants, WhatIfVariant(BASELINE)]
    results = []
    for number, variant in enumerate(played, 1):
        on_progress(variant.name, number, len(played))
        results.append(await play_variant(base, variant, options))
    *changed, baseline = results
    return WhatIfResult(base.name, base.version, options.seconds, (baseline, *changed))
