"""Questions to the shards on a Dask cluster, and a count of what travels.

A round is one task for each shard that is asked. Tasks name the shard that they need, so they run
where it is. If its worker is lost, Dask computes the shard again on another one, from the tasks
that read its partitions, and then the question.
"""

import asyncio
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass
from typing import Any

import numpy as np

from trigpoint._files.optional import require

# If an answer takes longer than this, the workers are checked; and if none of them has worked for
# this long, the wait ends with an error.
_LOOK_AFTER = 2.0
_NO_WORKERS_FOR = 60.0


class ClusterError(RuntimeError):
    """The cluster cannot finish the work; the message says what to do."""


@dataclass
class Traffic:
    """How often one question was asked, its tasks, and the bytes of arguments and answers.

    Attributes
    ----------
    rounds, tasks, bytes_sent, bytes_received : int
    seconds : float
        Time from the question to the last answer.
    """

    rounds: int = 0
    tasks: int = 0
    bytes_sent: int = 0
    bytes_received: int = 0
    seconds: float = 0.0


class Cluster:
    """Shards on the workers of a cluster.

    Parameters
    ----------
    client : distributed.Client
    shards : sequence of futures
        Each resolves to a `Shard`.

    Attributes
    ----------
    traffic : dict of str to Traffic
        For each question that was asked.
    """

    def __init__(self, client: Any, shards: Sequence[Any]) -> None:
        self.client = client
        self._shards = list(shards)
        self.traffic: dict[str, Traffic] = {}

    def __len__(self) -> int:
        return len(self._shards)

    def only(self, shards: Sequence[int]) -> "Cluster":
        """Some of the shards, which share the count of what travels."""
        some = Cluster(self.client, [self._shards[shard] for shard in shards])
        some.traffic = self.traffic
        return some

    def ask_all(self, question: str, *arguments: Any) -> list[Any]:
        """Answers of all shards to one question."""
        return list(self.ask(question, dict.fromkeys(range(len(self)), arguments)).values())

    def ask(self, question: str, arguments: dict[int, tuple[Any, ...]]) -> dict[int, Any]:
        """Answers of some shards, each with arguments of its own, in one round."""
        if not arguments:
            return {}
        start = time.perf_counter()
        futures = self.client.map(
            _answer,
            [self._shards[shard] for shard in arguments],
            [question] * len(arguments),
            list(arguments.values()),
            pure=False,
            key=f"trigpoint-{question}",
        )
        answers = gathered(self.client, futures)
        counted = self.traffic.setdefault(question, Traffic())
        counted.rounds += 1
        counted.tasks += len(arguments)
        counted.bytes_sent += sum(map(_bytes, arguments.values()))
        counted.bytes_received += sum(map(_bytes, answers))
        counted.seconds += time.perf_counter() - start
        return dict(zip(arguments, answers, strict=True))


def _answer(shard: Any, question: str, arguments: tuple[Any, ...]) -> Any:
    return getattr(shard, question)(*arguments)


def waited_for(client: Any, futures: list[Any]) -> Iterator[int]:
    """Wait for futures, yielding now and then how many are done; an error if no worker works."""
    from distributed import wait

    looked = _LookAtWorkers(client, futures)
    while True:
        try:
            wait(futures, timeout=_LOOK_AFTER)
            return
        except TimeoutError:
            yield sum(future.done() for future in futures)
            looked.again()


def gathered(client: Any, futures: list[Any]) -> list[Any]:
    """Results of futures, in their order; or an error that says what to do, if Dask gives up."""
    from distributed.scheduler import KilledWorker

    # Finished results can be lost with the last worker, and gathering them would then never end.
    results = asyncio.run_coroutine_threadsafe(
        client.gather(futures, asynchronous=True), client.loop.asyncio_loop
    )
    looked = _LookAtWorkers(client, futures)
    try:
        while True:
            try:
                return list(results.result(_LOOK_AFTER))
            except TimeoutError:
                if results.done():
                    raise
                looked.again()
    except KilledWorker as error:
        raise ClusterError(
            "several workers were lost while they computed the same part, which is what happens "
            "when a worker has too little memory for its partitions: use more workers, more memory "
            f"for each, or smaller chunks ({error})"
        ) from error
    except (asyncio.CancelledError, CancelledError) as error:
        raise ClusterError(
            "the cluster has dropped the work, as it does when it is restarted or closed: connect "
            "to one that is running and fit again"
        ) from error
    finally:
        results.cancel()


class _LookAtWorkers:
    """Checks the workers of a cluster, and ends a wait if none of them has worked for long."""

    def __init__(self, client: Any, futures: list[Any]) -> None:
        self._client = client
        self._futures = futures
        self._idle_since: float | None = None

    def again(self) -> None:
        """Check, and raise an error if no worker has worked for long."""
        now, is_there = time.monotonic(), bool(self._client.nthreads())
        # Results that are done may be on their way.
        works = any(self._client.processing().values()) or all(f.done() for f in self._futures)
        self._idle_since = None if is_there and works else self._idle_since or now
        if self._idle_since is None or now - self._idle_since <= _NO_WORKERS_FOR:
            return
        if not is_there:
            raise _no_workers()
        raise ClusterError(
            f"the cluster's workers have done nothing for {_NO_WORKERS_FOR:.0f} seconds, and the "
            "work is not finished: their memory may be full, so that they pause, or Dask has lost "
            "track of it; restart the cluster, with more memory if that was full, and fit again"
        )


def wait_for_a_worker(client: Any) -> None:
    """Wait until there is a worker; an error if none appears."""
    try:
        client.wait_for_workers(1, timeout=_NO_WORKERS_FOR)
    except TimeoutError:
        raise _no_workers() from None


def _no_workers() -> ClusterError:
    return ClusterError(
        f"the cluster has had no workers for {_NO_WORKERS_FOR:.0f} seconds: start some and fit "
        "again; nothing of this run is kept"
    )


def current_client(task: str) -> Any:
    """The Dask client that is current, or an error that says how to start one."""
    distributed = require("distributed", task)
    try:
        return distributed.get_client()
    except ValueError:
        raise ClusterError(
            f"{task} needs a Dask cluster, and there is none: start one on this machine with "
            "`from distributed import Client; client = Client()`, or connect to one with "
            "`Client('scheduler-address:8786')`"
        ) from None


def _bytes(value: Any) -> int:
    """About how many bytes a value takes when it is sent."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    if isinstance(value, dict):
        return sum(map(_bytes, value.values()))
    if isinstance(value, (tuple, list)):
        return sum(map(_bytes, value))
    if hasattr(value, "__dict__"):
        return _bytes(vars(value))
    return sys.getsizeof(value) if isinstance(value, (str, bytes)) else 8
