"""Values in tolerations and taints that cannot be read: logged once for each pod and value, not for each node."""

import logging
from typing import Final

from cachetools import LRUCache

from mockkube.matching.taints import TaintRules, compile_tolerations, unreadable
from mockkube.scheduler.framework.pods import PodInfo
from mockkube.scheduler.refusals import Refusal

_LOG: Final = logging.getLogger("mockkube.scheduler")
_REMEMBERED_MAX: Final = 4096
_PLUGIN: Final = "TaintToleration"


class Complaints:
    """Remembers what has been logged; bounded, so an old complaint may be heard again."""

    def __init__(self, rules: TaintRules) -> None:
        self._rules = rules
        self._logged: LRUCache[tuple[str, str], bool] = LRUCache(_REMEMBERED_MAX)

    def log(self, pod: PodInfo, refusal: Refusal) -> None:
        """Log what could not be read when nodes were refused for their taints."""
        if _PLUGIN not in refusal.rejectors.refused:
            return
        verdicts = {id(status): status for status in refusal.verdicts.by_node.values()}
        taints = [status.facts["taint"] for status in verdicts.values() if status.plugin == _PLUGIN]
        tolerations = compile_tolerations(pod.spec.get("tolerations") or (), self._rules)
        for _, _, outcome in unreadable(taints, tolerations):
            if (pod.uid, outcome.value) not in self._logged:
                self._logged[pod.uid, outcome.value] = True
                _LOG.warning("pod %s: %s value %r: %s", pod.key, outcome.owner, outcome.value, outcome.reason)
