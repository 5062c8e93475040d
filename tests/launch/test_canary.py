"""The canary runs in an environment of its own, around launches, and fails nobody."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from regress.launch.canary import MOST_FAILURES, Cage, Watched, slowest
from regress.launch.fake import LOOK, FakeLauncher, Pace, paced
from regress.launch.harness import harness
from regress.launch.launcher import Look
from regress.launch.local import LocalLauncher
from regress.launch.torchrun import TorchrunLauncher
from regress.record.canary import Canary, Reading
from tests.launch.jobs import HEALTHY, Workshop

UNKNOWN = Look(environment="", reading=None, problem="no torch")
LATER = Look(environment="fake", reading=Reading(matmul_s=2.0, all_reduce_s=2.0, copy_s=2.0))


@pytest.fixture
def fake() -> FakeLauncher:
    return FakeLauncher(paced({"base": Pace(), "head": Pace(), "only": Pace()}))


def around(launcher: FakeLauncher, workshop: Workshop, *, alone: bool) -> list[list[Canary | None]]:
    watched = Watched(launcher=launcher, world_size=4)
    return [
        [canary for _ in together]
        for together, canary in watched.run(workshop.job(alone=alone), lambda *_: None)
    ]


def test_resident_sides_stand_between_the_same_two_looks(fake: FakeLauncher, tmp_path: Path) -> None:
    fake.canaries = [LOOK, LATER]
    found = around(fake, Workshop(tmp_path, {"base": HEALTHY, "head": HEALTHY}), alone=False)
    canary = Canary(environment="fake", before=LOOK.reading, after=LATER.reading)
    assert found == [[canary, canary]]
    assert fake.looks == [(0, 4), (1, 4)]


def test_of_sides_alone_the_last_one_knows_how_it_ended(fake: FakeLauncher, tmp_path: Path) -> None:
    fake.canaries = [LOOK, LATER]
    found = around(fake, Workshop(tmp_path, {"base": HEALTHY, "head": HEALTHY}), alone=True)
    assert found == [
        [Canary(environment="fake", before=LOOK.reading, after=None)],
        [Canary(environment="fake", before=LOOK.reading, after=LATER.reading)],
    ]


def test_what_was_seen_after_a_job_was_before_the_next(fake: FakeLauncher, tmp_path: Path) -> None:
    workshop = Workshop(tmp_path, {"only": HEALTHY})
    watched = Watched(launcher=fake, world_size=2)
    for _ in range(2):
        tuple(watched.run(workshop.job(), lambda *_: None))
    assert fake.looks == [(0, 2), (1, 2), (2, 2)]


def test_turned_off_it_leaves_nothing(fake: FakeLauncher, tmp_path: Path) -> None:
    fake.canaries = [None]
    assert around(fake, Workshop(tmp_path, {"only": HEALTHY}), alone=False) == [[None]]
    assert len(fake.looks) == 1


def test_what_failed_is_not_known(fake: FakeLauncher, tmp_path: Path) -> None:
    fake.canaries = [LOOK, UNKNOWN]
    (found,) = around(fake, Workshop(tmp_path, {"only": HEALTHY}), alone=False)
    assert found == [Canary(environment="fake", before=LOOK.reading, after=None, problem="no torch")]


def test_the_slowest_rank_counts_piece_by_piece() -> None:
    ranks = [
        {"reading": {"matmul_s": 1.0, "all_reduce_s": 5.0, "copy_s": 1.5}},
        {"reading": {"matmul_s": 3.0, "all_reduce_s": 4.0, "copy_s": 1.0}},
    ]
    assert slowest(ranks) == Reading(matmul_s=3.0, all_reduce_s=5.0, copy_s=1.5)


@pytest.fixture
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return harness(tmp_path_factory.mktemp("cache"))


@pytest.fixture
def bad_python(tmp_path: Path) -> str:
    """An interpreter that says why it cannot, and counts how often it was asked."""
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\necho asked >> {tmp_path}/asked\necho 'no torch here' >&2\nexit 3\n")
    python.chmod(0o755)
    return str(python)


@pytest.fixture
def cages(copy: Path) -> Iterator[list[Cage]]:
    made: list[Cage] = []
    yield made
    for cage in made:
        cage.close()


@pytest.mark.torch
def test_it_sings_with_real_ranks_time_after_time(cages: list[Cage], copy: Path, bad_python: str) -> None:
    pytest.importorskip("torch")
    pythons = [bad_python, sys.executable, "/another/python"]
    cages.append(Cage(pythons, harness=copy, device="cpu", pin=True))
    first = cages[0].look(2)
    start_s = time.monotonic()
    second = cages[0].look(2)
    assert time.monotonic() - start_s < 5  # the server is warm: it imports nothing again
    for look in (first, second):
        assert look is not None
        assert look.problem == ""
        assert look.reading is not None
        assert 0 < look.reading.matmul_s < 1  # type: ignore[operator]
        assert 0 < look.reading.all_reduce_s < 1  # type: ignore[operator]
        assert 0 < look.reading.copy_s < 1  # type: ignore[operator]
        assert "2 ranks" in look.environment
        assert "gloo" in look.environment
    assert (Path(bad_python).parent / "asked").read_text() == "asked\n"
    assert cages[0]._pythons == [sys.executable]  # looks in two environments could not be compared


def test_where_it_cannot_run_that_is_said_and_not_tried_for_ever(
    cages: list[Cage], copy: Path, bad_python: str
) -> None:
    cages.append(Cage([bad_python], harness=copy, device="cpu", pin=False))
    looks = [cages[0].look(2) for _ in range(MOST_FAILURES + 2)]
    for look in looks:
        assert look is not None
        assert look.reading is None
        assert look.problem.endswith("no torch here")
    assert len((Path(bad_python).parent / "asked").read_text().split()) == MOST_FAILURES


@pytest.mark.parametrize("kind", [LocalLauncher, TorchrunLauncher])
def test_without_an_interpreter_it_is_turned_off(
    kind: type[LocalLauncher | TorchrunLauncher], tmp_path: Path
) -> None:
    with kind(cache=tmp_path) as launcher:
        assert launcher.canary(2) is None


@pytest.mark.parametrize("kind", [LocalLauncher, TorchrunLauncher])
def test_launchers_hold_it_in_its_own_environment(
    kind: type[LocalLauncher | TorchrunLauncher], tmp_path: Path, bad_python: str
) -> None:
    with kind(cache=tmp_path / "cache", canary=[bad_python]) as launcher:
        look = launcher.canary(1)
    assert look is not None
    assert "no torch here" in look.problem
