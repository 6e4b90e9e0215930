"""Worker of a controller: one key per step, with retries, rate limit and counters."""

import logging
from typing import Final

from mockkube.api.errors import ApiError
from mockkube.client.bad_objects import describe
from mockkube.client.protocol import Key
from mockkube.controllers.framework.controller import Again, Controller, Outcome
from mockkube.runtime.steps import Signal

_LOG: Final = logging.getLogger("mockkube.controllers")


class ControllerWorker:
    """Reconciles the keys of one controller once its informers have synced."""

    def __init__(self, component: str, controller: Controller) -> None:
        self.name = f"{component}/{controller.name}"
        self.controller = controller
        self.bell = Signal()
        controller.keys.bell = self.bell
        controller.tell_synced(self.bell)
        self._synced = False

    def ready(self) -> bool:
        """Return whether a key waits, the request rate allows a step, and the informers have synced."""
        controller = self.controller
        return controller.keys.ready() and self._has_tokens() and self.synced()

    def wake_at(self) -> float | None:
        """Return when the next key is due, or when the request rate allows a step."""
        controller = self.controller
        # No time can be given: the informers notify this worker when they have synced.
        if not self.synced():
            return None
        if controller.keys.ready():
            return controller.client.paid_at
        due = controller.keys.wake_at()
        return None if due is None else max(due, controller.client.paid_at)

    def synced(self) -> bool:
        """Return whether the controller has synced; True for good once it was."""
        self._synced = self._synced or self.controller.synced()
        return self._synced

    async def step(self) -> None:
        """Reconcile one key."""
        controller = self.controller
        key = controller.keys.get()
        try:
            outcome = await controller.reconcile(key)
        except ApiError as error:
            self._handle_error(key, error.message)
        # A malformed object or a bug fails its own key; the controller goes on with others.
        except Exception as error:
            self._handle_exception(key, error)
        else:
            self._handle_result(key, outcome)
        finally:
            controller.keys.done(key)

    def _has_tokens(self) -> bool:
        return self.controller.client.paid_at <= self.controller.clock.monotonic()

    def _handle_result(self, key: Key, outcome: Outcome) -> None:
        controller = self.controller
        if isinstance(outcome, Again) and outcome.after is None:
            controller.keys.add_rate_limited(key)
            return
        # A key that asks to come back at a time has succeeded, so its failure count is reset.
        controller.keys.forget(key)
        if isinstance(outcome, Again) and outcome.after is not None:
            controller.keys.add_after(key, outcome.after)
        controller.loops.succeeded(controller.name, key)

    def _handle_exception(self, key: Key, error: Exception) -> None:
        """Skip the object that made a key fail and retry; if it is the key's own object, let the key fail."""
        controller = self.controller
        if controller.blame(key, error):
            controller.keys.add(key)
            return
        controller.setting.caches.bad.log(controller.name, "", key, error)
        self._handle_error(key, describe(error), at_once=True)

    def _handle_error(self, key: Key, message: str, *, at_once: bool = False) -> None:
        """Requeue a failed key with backoff, or drop it after too many retries."""
        controller = self.controller
        controller.loops.failed(controller.name, key, message, at_once=at_once)
        if controller.retries_max is not None and controller.keys.num_requeues(key) >= controller.retries_max:
            _LOG.warning("%s: %s: dropped until it changes, after too many failures: %s", self.name, key, message)
            controller.keys.forget(key)
            return
        _LOG.info("%s: %s: %s", self.name, key, message)
        controller.keys.add_rate_limited(key)
