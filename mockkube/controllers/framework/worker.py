"""A controller's steps: one key each, with retries, pace and counters."""

import logging
from typing import Final

from mockkube.api.errors import ApiError
from mockkube.client.bad_objects import describe
from mockkube.client.protocol import Key
from mockkube.controllers.framework.controller import Again, Controller, Outcome
from mockkube.runtime.steps import Bell

_LOG: Final = logging.getLogger("mockkube.controllers")


class ControllerWorker:
    """Works on the keys of one controller, once its caches hold what there was."""

    def __init__(self, component: str, controller: Controller) -> None:
        self.name = f"{component}/{controller.name}"
        self.controller = controller
        self.bell = Bell()
        controller.keys.bell = self.bell
        controller.tell_synced(self.bell)
        self._synced = False

    def ready(self) -> bool:
        """Whether a key waits, and may be worked on."""
        controller = self.controller
        return controller.keys.ready() and self._paid() and self.synced()

    def wake_at(self) -> float | None:
        """Return when the next key is due, or may be paid for."""
        controller = self.controller
        if not self.synced():
            return None
        if controller.keys.ready():
            return controller.client.paid_at
        due = controller.keys.wake_at()
        return None if due is None else max(due, controller.client.paid_at)

    def synced(self) -> bool:
        """Whether it knows enough to begin; once it does it always does."""
        self._synced = self._synced or self.controller.synced()
        return self._synced

    async def step(self) -> None:
        """Reconcile one key."""
        controller = self.controller
        key = controller.keys.get()
        try:
            outcome = await controller.reconcile(key)
        except ApiError as error:
            self._failed(key, error.message)
        except Exception as error:
            self._stumbled(key, error)
        else:
            self._settled(key, outcome)
        finally:
            controller.keys.done(key)

    def _paid(self) -> bool:
        return self.controller.client.paid_at <= self.controller.clock.monotonic()

    def _settled(self, key: Key, outcome: Outcome) -> None:
        controller = self.controller
        if isinstance(outcome, Again) and outcome.after is None:
            controller.keys.add_rate_limited(key)
            return
        controller.keys.forget(key)
        if isinstance(outcome, Again) and outcome.after is not None:
            controller.keys.add_after(key, outcome.after)
        controller.loops.succeeded(controller.name, key)

    def _stumbled(self, key: Key, error: Exception) -> None:
        """Go on without the object that made a key fail if it is another's; else let the key fail, for all to see."""
        controller = self.controller
        if controller.blame(key, error):
            controller.keys.add(key)
            return
        controller.setting.caches.bad.log(controller.name, "", key, error)
        self._failed(key, describe(error), at_once=True)

    def _failed(self, key: Key, message: str, *, at_once: bool = False) -> None:
        controller = self.controller
        controller.loops.failed(controller.name, key, message, at_once=at_once)
        if controller.retries_max is not None and controller.keys.num_requeues(key) >= controller.retries_max:
            _LOG.warning("%s: %s: given up until it changes: %s", self.name, key, message)
            controller.keys.forget(key)
            return
        _LOG.info("%s: %s: %s", self.name, key, message)
        controller.keys.add_rate_limited(key)
