"""Worker of a controller: one key per step, with retries, rate limit and counters."""

import logging
from typing import Final

from mockkube.api.errors import ApiError
from mockkube.client.bad_objects import describe_error
from mockkube.client.protocol import Key
from mockkube.controllers.framework.controller import Controller, ReconcileResult, Requeue
from mockkube.runtime.steps import Signal

_LOG: Final = logging.getLogger("mockkube.controllers")


class ControllerWorker:
    """Reconciles the keys of one controller once its informers have synced."""

    def __init__(self, component: str, controller: Controller) -> None:
        self.name = f"{component}/{controller.name}"
        self.controller = controller
        self.signal = Signal()
        controller.work_queue.signal = self.signal
        controller.notify_when_synced(self.signal)
        self._synced = False

    def is_ready(self) -> bool:
        """Return whether a key waits, the request rate allows a step, and the informers have synced."""
        controller = self.controller
        return controller.work_queue.is_ready() and controller.client.has_tokens() and self.has_synced()

    def wake_at(self) -> float | None:
        """Return when the next key is due, or when the request rate allows a step."""
        controller = self.controller
        # No time can be given: the informers notify this worker when they have synced.
        if not self.has_synced():
            return None
        if controller.work_queue.is_ready():
            return controller.client.ready_at
        due = controller.work_queue.wake_at()
        return None if due is None else max(due, controller.client.ready_at)

    def has_synced(self) -> bool:
        """Return whether the controller has synced; True for good once it was."""
        self._synced = self._synced or self.controller.has_synced()
        return self._synced

    async def step(self) -> None:
        """Reconcile one key."""
        controller = self.controller
        key = controller.work_queue.get()
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
            controller.work_queue.done(key)

    def _handle_result(self, key: Key, result: ReconcileResult) -> None:
        controller = self.controller
        if isinstance(result, Requeue) and result.after is None:
            controller.work_queue.add_rate_limited(key)
            return
        # A key that asks to come back at a time has succeeded, so its failure count is reset.
        controller.work_queue.forget(key)
        if isinstance(result, Requeue) and result.after is not None:
            controller.work_queue.add_after(key, result.after)
        controller.hot_loops.record_success(controller.name, key)

    def _handle_exception(self, key: Key, error: Exception) -> None:
        """Skip the object that made a key fail and retry; if it is the key's own object, let the key fail."""
        controller = self.controller
        if controller.hide_culprit(key, error):
            controller.work_queue.add(key)
            return
        controller.dependencies.informers.bad.log_failure(controller.name, "", key, error)
        self._handle_error(key, describe_error(error), permanent=True)

    def _handle_error(self, key: Key, message: str, *, permanent: bool = False) -> None:
        """Requeue a failed key with backoff, or drop it after too many retries."""
        controller = self.controller
        controller.hot_loops.record_failure(controller.name, key, message, permanent=permanent)
        if controller.retries_max is not None and controller.work_queue.num_requeues(key) >= controller.retries_max:
            _LOG.warning("%s: %s: dropped until it changes, after too many failures: %s", self.name, key, message)
            controller.work_queue.forget(key)
            return
        _LOG.info("%s: %s: %s", self.name, key, message)
        controller.work_queue.add_rate_limited(key)
