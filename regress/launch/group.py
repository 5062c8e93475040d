"""The ranks of one launch on this host: commands to all of them at once, until one fails."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import socket
import struct
import tempfile
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from regress.errors import LaunchError
from regress.launch.blame import Failure, Witness, blame_ended, blame_hung, innermost_frame
from regress.launch.parent import Parent
from regress.launch.paths import LaunchPaths
from regress.record.outcome import Outcome

GRACE_S = 0.5
"""How long the other ranks may still tell what they saw once one has failed."""

STATUS_S = 2.0
"""How long the kernel may take from closing a rank's files to giving its exit status."""

POLL_S = 0.05
"""How often heartbeats and exit statuses are looked at."""


class LaunchFailed(Exception):
    """A launch ended before its time; carries what happened, and is never shown to users."""

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome
        super().__init__(outcome.message)


@dataclass(kw_only=True)
class Rank:
    """What is known of one rank while it runs."""

    number: int
    """In the process group."""

    pid: int
    """Of its process."""

    channel: socket.socket | None = None
    """To it; ``None`` until it has called."""

    pending: bytes = b""
    """The beginning of a line."""

    answers: deque[dict[str, Any]] = field(default_factory=deque)
    """Not yet taken."""

    failure: Failure | None = None
    """What it told of its end."""

    gone_s: float | None = None
    """When it was seen to have ended, on the monotonic clock."""

    beats: int = 0
    """Its heartbeat when it was last seen to move."""

    beat_s: float = 0.0
    """When that was, on the monotonic clock."""


class Group:
    """A process group whose ranks do what they are told."""

    def __init__(
        self, parent: Parent, paths: LaunchPaths, requests: Sequence[dict[str, Any]], limit_s: float
    ) -> None:
        """Nothing runs yet.

        Args:
            parent: Starts the ranks.
            paths: Of the launch.
            requests: One `regress.worker.process.RankRequest` per rank, without ``control``.
            limit_s: Longest time from the request to the last rank in the process group.
        """
        self._parent = parent
        self._paths = paths
        self._requests = requests
        self._limit_s = limit_s
        self._selector = selectors.DefaultSelector()
        self._ranks: list[Rank] = []
        self._torch: str | None = None

    def start(self) -> list[dict[str, Any]]:
        """Start the ranks and wait until they have joined their process group.

        Returns:
            What each rank says of its environment and platform, by rank.

        Raises:
            LaunchFailed: A rank failed on the way.
            LaunchError: Their parent has ended.
        """
        with tempfile.TemporaryDirectory(prefix="regress-", dir="/tmp") as folder:
            control = str(Path(folder) / "control")
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
                listener.bind(control)
                listener.listen(len(self._requests))
                for number in range(len(self._requests)):
                    self._paths.heartbeat(number).write_bytes(bytes(8))
                pids = self._parent.start([{**request, "control": control} for request in self._requests])
                self._ranks = [Rank(number=number, pid=pid) for number, pid in enumerate(pids)]
                self._accept(listener)
        return self._await("start", self._limit_s, beating=False)

    def ask(
        self, do: str, *, limit_s: float, beating: bool = False, **arguments: Any
    ) -> list[dict[str, Any]]:
        """Have all ranks do something and wait until each has answered.

        Args:
            do: The command.
            limit_s: Longest time it may take; with ``beating``, longest time without a heartbeat.
            beating: Whether heartbeats are what is watched.
            arguments: Of the command.

        Raises:
            LaunchFailed: A rank failed, died or let the limit pass.
            LaunchError: Their parent has ended.
        """
        line = (json.dumps({"do": do, **arguments}) + "\n").encode()
        for rank in self._ranks:
            if rank.channel is not None:
                with contextlib.suppress(OSError):  # a dead rank is noticed below
                    rank.channel.sendall(line)
        return self._await(do, limit_s, beating=beating)

    def end(self) -> None:
        """Kill every rank that still runs and wait until all are gone; may be called again."""
        with contextlib.suppress(LaunchError):  # ranks end with their parent
            self._parent.kill([rank.pid for rank in self._ranks])
        for rank in self._ranks:
            if rank.channel is not None:
                rank.channel.close()
        self._selector.close()

    def _accept(self, listener: socket.socket) -> None:
        """Wait for the call of every rank."""
        limit = time.monotonic() + self._limit_s
        listener.settimeout(POLL_S)
        waiting = {rank.number: rank for rank in self._ranks}
        while waiting:
            self._see_the_dead()
            if any(rank.gone_s is not None for rank in waiting.values()):
                raise LaunchFailed(blame_ended(self._witnesses()))
            if time.monotonic() > limit:
                raise LaunchFailed(self._hung("the ranks did not start", self._limit_s, self._ranks))
            try:
                channel, _ = listener.accept()
            except TimeoutError:
                continue
            channel.settimeout(max(GRACE_S, limit - time.monotonic()))
            hello = _first_line(channel)
            if hello is None:  # it died while saying it; its status will tell
                channel.close()
                continue
            self._torch = hello["torch"]
            rank = waiting.pop(hello["hello"])
            channel.setblocking(False)
            rank.channel = channel
            self._selector.register(channel, selectors.EVENT_READ, rank)

    def _await(self, do: str, limit_s: float, *, beating: bool) -> list[dict[str, Any]]:
        start_s = time.monotonic()
        for rank in self._ranks:
            rank.beat_s = start_s
        while not all(rank.answers for rank in self._ranks):
            self._listen()
            if any(rank.failure or (rank.gone_s is not None and not rank.answers) for rank in self._ranks):
                self._settle()
                raise LaunchFailed(blame_ended(self._witnesses()))
            late = [rank for rank in self._ranks if not rank.answers]
            now_s = time.monotonic()
            if any(now_s - (self._moved_s(rank, now_s) if beating else start_s) > limit_s for rank in late):
                what = "no step ended" if beating else f"no answer to {do!r}"
                raise LaunchFailed(self._hung(what, limit_s, late))
        return [rank.answers.popleft() for rank in self._ranks]

    def _moved_s(self, rank: Rank, now_s: float) -> float:
        """When the rank's heartbeat was last seen to move."""
        (beats,) = struct.unpack("q", self._paths.heartbeat(rank.number).read_bytes())
        if beats != rank.beats:
            rank.beats, rank.beat_s = beats, now_s
        return rank.beat_s

    def _listen(self) -> None:
        """Take in what ranks say, for a moment; whoever is dead has said all it had to say before."""
        dead = [rank for rank in self._ranks if rank.pid in self._parent.statuses]
        for key, _ in self._selector.select(POLL_S):
            self._hear(key.data, key.fileobj)
        for rank in dead:
            rank.gone_s = rank.gone_s or time.monotonic()
        self._parent.poll()

    def _hear(self, rank: Rank, channel: Any) -> None:
        try:
            chunk = channel.recv(65536)
        except OSError:
            chunk = b""
        if not chunk:
            rank.gone_s = rank.gone_s or time.monotonic()
            self._selector.unregister(channel)
            return
        *lines, rank.pending = (rank.pending + chunk).split(b"\n")
        for answer in map(json.loads, lines):
            if "failed" in answer:
                rank.failure = Failure(kind=answer["failed"], message=answer["message"], at_s=answer["at_s"])
            else:
                rank.answers.append(answer)

    def _see_the_dead(self) -> None:
        self._parent.poll()
        for rank in self._ranks:
            if rank.gone_s is None and rank.pid in self._parent.statuses:
                rank.gone_s = time.monotonic()

    def _settle(self) -> None:
        """Listen a little longer: the first to tell need not be the first to fail."""
        limit = time.monotonic() + GRACE_S
        while time.monotonic() < limit and any(rank.gone_s is None for rank in self._ranks):
            self._listen()
        limit = time.monotonic() + STATUS_S
        while time.monotonic() < limit and any(
            rank.gone_s is not None and rank.pid not in self._parent.statuses for rank in self._ranks
        ):
            time.sleep(0.01)
            self._parent.poll()

    def _hung(self, what: str, limit_s: float, late: Sequence[Rank]) -> Outcome:
        """Ask the late ranks for their stacks and blame one."""
        for rank in late:
            with contextlib.suppress(ProcessLookupError):
                os.kill(rank.pid, signal.SIGUSR1)
        time.sleep(GRACE_S)
        for rank in late:
            self._moved_s(rank, time.monotonic())
        witnesses = [self._witnesses()[rank.number] for rank in late]
        return blame_hung(witnesses, f"{what} for {limit_s:g} s", self._torch)

    def _witnesses(self) -> list[Witness]:
        return [
            Witness(
                rank=rank.number,
                log=str(self._paths.log(rank.number)),
                failure=rank.failure,
                gone_s=rank.gone_s,
                status=self._parent.statuses.get(rank.pid),
                beats=rank.beats,
                frame=self._frame(rank.number),
                collectives=self._collectives(rank.number),
            )
            for rank in self._ranks
        ]

    def _collectives(self, number: int) -> tuple[tuple[str, int], ...]:
        try:
            last: dict[str, int] = json.loads(self._paths.collectives(number).read_text())
        except FileNotFoundError:
            return ()
        return tuple(sorted(last.items()))

    def _frame(self, number: int) -> str | None:
        try:
            return innermost_frame(self._paths.stacks(number).read_text(errors="replace"))
        except FileNotFoundError:
            return None


def _first_line(channel: socket.socket) -> dict[str, Any] | None:
    """Read up to the first newline, byte by byte, so that nothing after it is taken."""
    line = b""
    while not line.endswith(b"\n"):
        try:
            byte = channel.recv(1)
        except OSError:
            return None
        if not byte:
            return None
        line += byte
    hello: dict[str, Any] = json.loads(line)
    return hello
