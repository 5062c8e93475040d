from __future__ import annotations

import dataclasses

import pytest

from regress.launch.blame import Failure, Witness, blame_ended, blame_hung, innermost_frame

DUMP = """\
Thread 0x00007f41b6ffd6c0 (most recent call first):
  File "/env/lib/threading.py", line 331 in wait

Current thread 0x00007f43b5f3f740 (most recent call first):
  File "/home/a "b"/train.py", line 12 in step
  File "/env/lib/loop.py", line 80 in burst
"""


def told(at_s: float, message: str = "ValueError: boom") -> Failure:
    return Failure(kind="raised", message=message, at_s=at_s)


def witness(
    rank: int,
    failure: Failure | None = None,
    gone_s: float | None = None,
    status: int | None = None,
    beats: int = 0,
    frame: str | None = None,
) -> Witness:
    return Witness(
        rank=rank,
        log=f"rank{rank}.log",
        failure=failure,
        gone_s=gone_s,
        status=status,
        beats=beats,
        frame=frame,
    )


def test_the_first_to_fail_is_to_blame_whoever_tells_first() -> None:
    late, early = witness(0, told(5.0, "RuntimeError: peer"), 6.0, 70), witness(1, told(4.0), 6.5, 70)

    for order in ([late, early], [early, late]):
        outcome = blame_ended(order)
        assert (outcome.kind, outcome.rank, outcome.message) == ("raised", 1, "ValueError: boom")
        assert outcome.status is None
        assert outcome.log == "rank1.log"


def test_an_end_without_a_word_outweighs_what_the_others_tell() -> None:
    outcome = blame_ended([witness(0, told(1.0)), witness(1, None, 9.0, -9), witness(2, told(2.0))])

    assert (outcome.kind, outcome.rank, outcome.status) == ("died", 1, -9)
    assert outcome.message == "ended by SIGKILL; perhaps the kernel's out-of-memory killer"


def test_of_two_that_ended_without_a_word_the_first_is_to_blame() -> None:
    outcome = blame_ended([witness(0, None, 3.0, -6), witness(1, None, 2.0, 7)])

    assert (outcome.kind, outcome.rank, outcome.status) == ("exited", 1, 7)


def test_a_status_that_never_came() -> None:
    outcome = blame_ended([witness(0), witness(1, None, 2.0)])

    assert (outcome.kind, outcome.rank, outcome.status) == ("died", 1, None)
    assert outcome.message == "closed its connection and lives on"


TORCH = "/env/torch"
WAITS = "/env/torch/distributed/distributed_c10d.py:3000 (all_reduce)"
WORKS = "/home/torch/train.py:3 (step)"


@pytest.mark.parametrize(
    ("ranks", "culprit", "where"),
    [
        ([(4, WAITS), (4, None)], 1, "it gives no stack, as a stopped process"),
        ([(4, WORKS), (3, WAITS)], 1, f"it stands in {WAITS}"),
        ([(4, WAITS), (4, WORKS)], 1, f"it stands in {WORKS}"),
        ([(4, None), (4, WAITS), (3, WORKS)], 0, "it gives no stack, as a stopped process"),
        ([(4, WAITS), (4, WAITS)], None, "on no rank in particular"),
        ([(4, WORKS), (4, WORKS)], None, "on no rank in particular"),
        ([(4, None), (4, None)], None, "on no rank in particular"),
        ([(4, WORKS)], 0, f"it stands in {WORKS}"),
    ],
)
def test_the_culprit_of_a_hang(ranks: list[tuple[int, str | None]], culprit: int | None, where: str) -> None:
    outcome = blame_hung(
        [witness(rank, beats=beats, frame=frame) for rank, (beats, frame) in enumerate(ranks)],
        "no step ended for 9 s",
        TORCH,
    )

    assert (outcome.kind, outcome.rank, outcome.status) == ("hung", culprit, None)
    assert outcome.message.startswith("no step ended for 9 s")
    assert outcome.message.endswith(where)
    assert outcome.log == f"rank{culprit or 0}.log"


@pytest.mark.parametrize(
    ("collectives", "culprit"),
    [
        ([{"0": 7}, {"0": 6}], 1),
        ([{"0": 7, "1": 2}, {"0": 7, "2": 1}], None),  # groups that only one belongs to
        ([{"0": 7, "1": 2}, {"0": 7, "1": 1}, {"0": 7, "1": 2}], 1),
        ([{"0": 7}, {"0": 7}], None),
        ([{"0": 7}, {"0": 6}, {"0": 6}], None),
        ([{"0": 7}, {}], None),  # a torch that records nothing
    ],
)
def test_where_all_wait_in_torch_the_one_with_fewer_collectives_is_to_blame(
    collectives: list[dict[str, int]], culprit: int | None
) -> None:
    ranks = [
        dataclasses.replace(witness(rank, beats=4, frame=WAITS), collectives=tuple(last.items()))
        for rank, last in enumerate(collectives)
    ]

    assert blame_hung(ranks, "no step ended for 9 s", TORCH).rank == culprit


def test_without_torch_s_folder_a_stack_proves_nothing() -> None:
    stacks = [witness(0, beats=1, frame=WAITS), witness(1, beats=1, frame=WORKS)]

    assert blame_hung(stacks, "the ranks did not start", None).rank is None


def test_the_innermost_frame_is_that_of_the_main_thread() -> None:
    assert innermost_frame(DUMP) == '/home/a "b"/train.py:12 (step)'
    assert innermost_frame(DUMP + DUMP.replace("line 12", "line 13")) == '/home/a "b"/train.py:13 (step)'
    assert innermost_frame("") is None
    assert innermost_frame("Current thread 0x1 (most recent call first):\n  <no Python frame>\n") is None
