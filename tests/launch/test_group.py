"""Who is blamed when news arrives late, together, or in the wrong order."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from regress.launch.group import Group, LaunchFailed
from regress.launch.paths import LaunchPaths
from regress.record.outcome import Outcome

if TYPE_CHECKING:
    from regress.launch.parent import Parent

FIRST_PID = 2**22 + 1
"""Above every process there is."""


class Peer:
    """The rank's end of the conversation."""

    def __init__(self, rank: int, channel: socket.socket, statuses: dict[int, int]) -> None:
        self.rank = rank
        self._channel = channel
        self._lines = channel.makefile("r")
        self._statuses = statuses

    def hear(self) -> dict[str, Any]:
        command: dict[str, Any] = json.loads(self._lines.readline())
        return command

    def say(self, *answers: dict[str, Any]) -> None:
        self._channel.sendall("".join(json.dumps(answer) + "\n" for answer in answers).encode())

    def fail(self, at_s: float) -> None:
        self.say({"failed": "raised", "message": f"Error: {self.rank}", "at_s": at_s})

    def wait(self) -> None:
        """Hang in the command at hand until the group ends."""
        with contextlib.suppress(OSError):
            self._lines.read()

    def close(self) -> None:
        self._lines.close()
        self._channel.close()

    def exit(self, status: int) -> None:
        self._statuses[FIRST_PID + self.rank] = status


Script = Callable[[Peer], None]


class ScriptedParent:
    """Stands for what starts ranks: each rank is a thread that follows a script."""

    def __init__(self, scripts: Sequence[Script]) -> None:
        self.statuses: dict[int, int] = {}
        self.killed: list[int] = []
        self._scripts = scripts
        self._threads: list[threading.Thread] = []

    def start(self, requests: Sequence[dict[str, Any]]) -> list[int]:
        return [self.begin(request) for request in requests]

    def begin(self, request: dict[str, Any]) -> int:
        rank: int = request["rank"]

        def live() -> None:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as channel:
                try:
                    channel.connect(request["control"])
                except OSError:  # the group gave up before it called
                    return
                peer = Peer(rank, channel, self.statuses)
                with contextlib.suppress(BrokenPipeError):
                    peer.say({"hello": rank, "torch": "/env/torch"})
                    self._scripts[rank](peer)
                peer.close()

        self._threads.append(threading.Thread(target=live))
        self._threads[-1].start()
        return FIRST_PID + rank

    def poll(self) -> None: ...

    def kill(self, pids: Sequence[int]) -> None:
        self.killed += [pid for pid in pids if pid not in self.statuses]

    def join(self) -> None:
        for thread in self._threads:
            thread.join(timeout=20)
            assert not thread.is_alive()


@pytest.fixture
def parents() -> Iterator[list[ScriptedParent]]:
    parents: list[ScriptedParent] = []
    yield parents
    for parent in parents:
        parent.join()


Play = Callable[..., Group]


@pytest.fixture
def play(parents: list[ScriptedParent], tmp_path: Path) -> Play:
    """Make a group of one scripted rank after the other."""

    def play(*scripts: Script) -> Group:
        parent = ScriptedParent(scripts)
        parents.append(parent)
        requests = [{"rank": rank} for rank in range(len(scripts))]
        return Group(cast("Parent", parent), LaunchPaths(folder=tmp_path), requests, 10.0)

    return play


def fails(group: Group, *, limit_s: float = 10.0) -> Outcome:
    """Start, give one command, and return what is made of its failure."""
    try:
        assert [answer["joined"] for answer in group.start()] == [0, 1]
        with pytest.raises(LaunchFailed) as caught:
            group.ask("burst", limit_s=limit_s, beating=True)
        return caught.value.outcome
    finally:
        group.end()


def works(peer: Peer) -> None:
    """Join and hear one command."""
    peer.say({"joined": peer.rank})
    peer.hear()


def waits(peer: Peer) -> None:
    """Wait in that command for a rank that does not come."""
    works(peer)
    peer.wait()


def test_commands_reach_every_rank_and_answers_come_by_rank(play: Play) -> None:
    def rank(peer: Peer) -> None:
        peer.say({"joined": peer.rank})
        command = peer.hear()
        time.sleep(0.1 * (1 - peer.rank))
        peer.say({"done": command["do"], "steps": command["steps"], "rank": peer.rank})

    group = play(rank, rank)
    group.start()
    answers = group.ask("burst", limit_s=10.0, steps=4)
    group.end()
    group.end()

    assert answers == [{"done": "burst", "steps": 4, "rank": number} for number in (0, 1)]


def test_a_failure_and_the_end_in_one_piece(play: Play) -> None:
    def culprit(peer: Peer) -> None:
        works(peer)
        peer.fail(at_s=1.0)
        peer.close()
        peer.exit(70)

    outcome = fails(play(waits, culprit))

    assert (outcome.kind, outcome.rank, outcome.message) == ("raised", 1, "Error: 1")


def test_the_first_to_fail_tells_last(play: Play) -> None:
    def victim(peer: Peer) -> None:
        works(peer)
        peer.fail(at_s=2.0)
        peer.wait()

    def culprit(peer: Peer) -> None:
        works(peer)
        time.sleep(0.2)
        peer.fail(at_s=1.0)
        peer.exit(70)

    assert fails(play(victim, culprit)).rank == 1


def test_an_end_that_shows_after_its_consequence_with_a_status_that_comes_later(play: Play) -> None:
    def victim(peer: Peer) -> None:
        works(peer)
        peer.fail(at_s=2.0)
        peer.wait()

    def culprit(peer: Peer) -> None:
        works(peer)
        time.sleep(0.2)
        peer.close()
        time.sleep(0.7)  # longer than the others are given
        peer.exit(-11)

    outcome = fails(play(victim, culprit))

    assert (outcome.kind, outcome.rank, outcome.status) == ("died", 1, -11)


def test_a_rank_that_ended_while_a_child_keeps_its_socket_open(play: Play) -> None:
    def culprit(peer: Peer) -> None:
        works(peer)
        peer.exit(7)
        peer.wait()

    outcome = fails(play(waits, culprit))

    assert (outcome.kind, outcome.rank, outcome.status) == ("exited", 1, 7)


def test_a_rank_that_answers_and_ends_is_found_at_the_next_command(play: Play) -> None:
    def rank(peer: Peer) -> None:
        works(peer)
        peer.say({"done": True})
        if peer.rank == 1:
            peer.close()
            peer.exit(0)
        else:
            peer.wait()

    group = play(rank, rank)
    group.start()
    assert len(group.ask("burst", limit_s=10.0)) == 2
    with pytest.raises(LaunchFailed) as caught:
        group.ask("burst", limit_s=10.0)
    group.end()

    assert caught.value.outcome.rank == 1
    assert caught.value.outcome.message == "exited with status 0 before the end"


def test_of_late_ranks_the_one_behind_is_to_blame(play: Play, tmp_path: Path) -> None:
    def rank(peer: Peer) -> None:
        works(peer)
        LaunchPaths(folder=tmp_path).heartbeat(peer.rank).write_bytes(bytes([5 - peer.rank] + [0] * 7))
        for number in (0, 1):
            LaunchPaths(folder=tmp_path).stacks(number).write_text(
                'Current thread 0x1 (most recent call first):\n  File "/env/torch/a.py", line 1 in wait\n'
            )
        peer.wait()

    outcome = fails(play(rank, rank), limit_s=0.3)

    assert (outcome.kind, outcome.rank) == ("hung", 1)
    assert outcome.message == "no step ended for 0.3 s; it stands in /env/torch/a.py:1 (wait)"


def test_a_rank_that_ends_before_it_calls(
    play: Play, parents: list[ScriptedParent], monkeypatch: pytest.MonkeyPatch
) -> None:
    group = play(Peer.wait, works)
    (parent,) = parents
    begin = parent.begin

    def begin_and_lose(request: dict[str, Any]) -> int:
        if request["rank"] == 0:
            return begin(request)
        parent.statuses[FIRST_PID + 1] = 1
        return FIRST_PID + 1

    monkeypatch.setattr(parent, "begin", begin_and_lose)
    with pytest.raises(LaunchFailed) as caught:
        group.start()
    group.end()

    assert (caught.value.outcome.kind, caught.value.outcome.rank) == ("exited", 1)
    assert parent.killed == [FIRST_PID]
