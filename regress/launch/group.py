"""The ranks of one launch on this host: commands to all of them, and who is to blame."""

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
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from regress.launch.forkserver import ForkServer
from regress.launch.paths import LaunchPaths
from regress.record.outcome import Outcome, OutcomeKind

GRACE_S = 0.5
"""How long the other ranks may still tell what they saw once one has failed."""

POLL_S = 0.05
"""How often heartbeats are looked at."""


class LaunchFailed(Exception):
    """A launch ended before its time; carries what happened, and is never shown to users."""

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome
        super().__init__(outcome.message)


@dataclass(kw_only=True)
class Rank:
    """What is known of one rank."""

    number: int
    pid: int
    channel: socket.socket | None = None
    pending: bytes = b""
    answers: list[dict[str, Any]] = field(default_factory=list)
    failure: dict[str, Any] | None = None
    gone: bool = False
    """Whether its end of the socket is closed."""

    beats: int = 0
    beat_s: float = 0.0
    """When its heartbeat was last seen to move, on the monotonic clock."""


class Group:
    """A process group whose ranks do what they are told, all at once."""

    def __init__(
        self, server: ForkServer, paths: LaunchPaths, requests: list[dict[str, Any]], limit_s: float
    ) -> None:
        self._server = server
        self._paths = paths
        self._requests = requests
        self._limit_s = limit_s
        self._selector = selectors.DefaultSelector()
        self._ranks: list[Rank] = []

    def start(self) -> list[dict[str, Any]]:
        """Fork the ranks and wait until they have joined their process group.

        Returns:
            What each rank says of its environment and platform, by rank.

        Raises:
            LaunchFailed: A rank failed on the way.
        """
        with tempfile.TemporaryDirectory(prefix="regress-") as folder:
            control = str(Path(folder) / "control")
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
                listener.bind(control)
                listener.listen(len(self._requests))
                for number, request in enumerate(self._requests):
                    self._paths.heartbeat(number).write_bytes(bytes(8))
                    pid = self._server.fork({**request, "control": control})
                    self._ranks.append(Rank(number=number, pid=pid))
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
        """
        line = (json.dumps({"do": do, **arguments}) + "\n").encode()
        for rank in self._ranks:
            if rank.channel is not None:
                with contextlib.suppress(OSError):  # a dead rank shows as a closed socket below
                    rank.channel.sendall(line)
        return self._await(do, limit_s, beating=beating)

    def end(self) -> None:
        """Kill every rank that still runs; harmless when all have ended."""
        for rank in self._ranks:
            if rank.pid not in self._server.statuses:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(rank.pid, signal.SIGKILL)
            if rank.channel is not None:
                rank.channel.close()
        self._selector.close()

    def _accept(self, listener: socket.socket) -> None:
        limit = time.monotonic() + self._limit_s
        listener.settimeout(POLL_S)
        waiting = {rank.number: rank for rank in self._ranks}
        while waiting:
            self._server.poll()
            dead = [rank for rank in waiting.values() if rank.pid in self._server.statuses]
            if dead or time.monotonic() > limit:
                for rank in dead:
                    rank.gone = True
                raise LaunchFailed(self._blame("start", self._limit_s))
            try:
                channel, _ = listener.accept()
            except TimeoutError:
                continue
            channel.settimeout(GRACE_S)
            hello = json.loads(_first_line(channel))
            if "hello" not in hello:  # it died while saying it; its status will tell
                channel.close()
                continue
            channel.setblocking(False)
            rank = waiting.pop(hello["hello"])
            rank.channel = channel
            self._selector.register(channel, selectors.EVENT_READ, rank)

    def _await(self, do: str, limit_s: float, *, beating: bool) -> list[dict[str, Any]]:
        start_s = time.monotonic()
        for rank in self._ranks:
            rank.beat_s = start_s
        while not all(rank.answers for rank in self._ranks):
            self._listen(POLL_S)
            if any(rank.failure or (rank.gone and not rank.answers) for rank in self._ranks):
                self._settle()
                raise LaunchFailed(self._blame(do, limit_s))
            now_s = time.monotonic()
            late = [
                rank
                for rank in self._ranks
                if not rank.answers and self._idle_s(rank, now_s, start_s, beating) > limit_s
            ]
            if late:
                raise LaunchFailed(self._blame_hang(do, limit_s))
        return [rank.answers.pop(0) for rank in self._ranks]

    def _idle_s(self, rank: Rank, now_s: float, start_s: float, beating: bool) -> float:
        if not beating:
            return now_s - start_s
        (beats,) = struct.unpack("q", self._paths.heartbeat(rank.number).read_bytes())
        if beats != rank.beats:
            rank.beats, rank.beat_s = beats, now_s
        return now_s - rank.beat_s

    def _listen(self, timeout_s: float) -> None:
        for key, _ in self._selector.select(timeout_s):
            rank: Rank = key.data
            try:
                chunk = key.fileobj.recv(65536)  # type: ignore[union-attr]
            except OSError:
                chunk = b""
            if not chunk:
                rank.gone = True
                self._selector.unregister(key.fileobj)
                continue
            *lines, rank.pending = (rank.pending + chunk).split(b"\n")
            for line in lines:
                answer = json.loads(line)
                if "failed" in answer:
                    rank.failure = answer
                else:
                    rank.answers.append(answer)
        self._server.poll()

    def _settle(self) -> None:
        """Listen a little longer: the first to tell need not be the first to fail."""
        limit = time.monotonic() + GRACE_S
        while time.monotonic() < limit:
            self._listen(POLL_S)
            if all(rank.gone for rank in self._ranks):
                break
        self._await_statuses(limit)

    def _await_statuses(self, limit: float) -> None:
        while time.monotonic() < limit and any(
            rank.gone and rank.pid not in self._server.statuses for rank in self._ranks
        ):
            time.sleep(0.01)
            self._server.poll()

    def _blame(self, do: str, limit_s: float) -> Outcome:
        """Name the culprit: a rank that ended without a word, else the first that told of an error.

        When one rank ends, the others' collectives fail: what they tell is a consequence.
        """
        silent = [rank for rank in self._ranks if rank.gone and rank.failure is None]
        if silent:
            return self._outcome_of_status(silent[0])
        told = [rank for rank in self._ranks if rank.failure]
        if told:
            rank = min(told, key=lambda rank: rank.failure["at_s"] if rank.failure else 0.0)
            failure = rank.failure or {}
            return self._outcome(rank, failure["failed"], failure["message"])
        return self._blame_hang(do, limit_s)

    def _outcome_of_status(self, rank: Rank) -> Outcome:
        status = self._server.statuses.get(rank.pid)
        if status is None:
            return self._outcome(rank, "died", "closed its connection and lives on")
        if status < 0:
            name = _signal_name(-status)
            hint = "; perhaps the kernel's out-of-memory killer" if status == -signal.SIGKILL else ""
            return self._outcome(rank, "died", f"ended by {name}{hint}", status)
        return self._outcome(rank, "exited", f"exited with status {status} before the end", status)

    def _blame_hang(self, do: str, limit_s: float) -> Outcome:
        """Ask every rank for its stacks; the culprit is the one that is not waiting for the others."""
        late = [rank for rank in self._ranks if not rank.answers]
        for rank in late:
            with contextlib.suppress(ProcessLookupError):
                os.kill(rank.pid, signal.SIGUSR1)
        time.sleep(GRACE_S)
        ends = {rank.number: _innermost(self._paths.stacks(rank.number)) for rank in late}
        stopped = [rank for rank in late if ends[rank.number] is None]
        slowest = min(rank.beats for rank in late)
        behind = [rank for rank in late if rank.beats == slowest]
        outside = [rank for rank in late if (end := ends[rank.number]) and "/torch/" not in end]
        candidates = [ranks for ranks in (stopped, outside, behind) if len(ranks) == 1]
        what = (
            f"no answer to {do!r}"
            if do in ("start", "build", "count", "finish", "close")
            else "no step ended"
        )
        if not candidates:
            return Outcome(
                kind="hung",
                message=f"{what} for {limit_s:g} s on any rank",
                log=str(self._paths.log(late[0].number)),
            )
        culprit = candidates[0][0]
        end = ends[culprit.number]
        where = f"it stands in {end}" if end else "it gives no stack, as a stopped process does"
        return self._outcome(culprit, "hung", f"{what} for {limit_s:g} s; {where}")

    def _outcome(self, rank: Rank, kind: OutcomeKind, message: str, status: int | None = None) -> Outcome:
        return Outcome(
            kind=kind, rank=rank.number, status=status, message=message, log=str(self._paths.log(rank.number))
        )


def _first_line(channel: socket.socket) -> bytes:
    """Read up to the first newline, byte by byte, so that nothing after it is taken."""
    line = b""
    with contextlib.suppress(OSError):
        while not line.endswith(b"\n"):
            byte = channel.recv(1)
            if not byte:
                break
            line += byte
    return line if line.endswith(b"\n") else b"{}"


def _innermost(stacks: Path) -> str | None:
    """Innermost frame of the main thread in a `faulthandler` dump: ``file.py:12 (function)``."""
    try:
        lines = stacks.read_text(errors="replace").splitlines()
    except FileNotFoundError:
        return None
    starts = [
        index
        for index, line in enumerate(lines)
        if line.startswith("Current thread") or "(most recent call first)" in line
    ]
    if not starts or starts[-1] + 1 >= len(lines):
        return None
    frame = lines[starts[-1] + 1].strip()
    file, _, rest = frame.removeprefix("File ").partition(", line ")
    line, _, function = rest.partition(" in ")
    return f"{file.strip(chr(34))}:{line} ({function})"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
