"""What a budget can see, before it is spent."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from regress.errors import RequestError
from regress.flows.compare import CompareRequest
from regress.flows.earlier import noise_before
from regress.flows.foresee import foresee
from regress.flows.machinery import Site
from regress.flows.progress import Silence
from regress.flows.undertaking import Means, Undertaking
from regress.flows.workplace import Workplace
from regress.launch.fake import PLATFORM, Pace, paced
from regress.record.foresight import Foresight, Outlook
from regress.record.noise import Noise
from regress.stats.compare import Criteria, sees
from regress.stats.interval import Estimate
from regress.verdict.noise import prior_from
from tests.flows.project import (
    CATALOG,
    DDP,
    EQUAL,
    FSDP,
    ONLY_DDP,
    SUITE,
    Fakes,
    git,
    measured,
    step_of,
    stored_runs,
)

TWO_LOOKS = SUITE.replace("count: 6, alone: 1, looks: []", "count: 8, alone: 1, looks: [3, 5]")
NOISY = paced({"base": Pace(), "head": Pace()}, noise=0.03)


@pytest.fixture(autouse=True)
def suite(project: Path) -> Path:
    file = project / "configs" / "commit.yaml"
    file.write_text(TWO_LOOKS)
    return file


def foreseen(
    project: Path, fakes: Fakes | None = None, base: str = "HEAD~1", head: str = "HEAD", **means: object
) -> Foresight:
    request = CompareRequest(base=base, head=head, means=Means(**means))  # type: ignore[arg-type]
    return foresee(Workplace.around(project), request, Silence(), (fakes or Fakes(EQUAL)).machinery)


def outlook(answer: Foresight, label: str = DDP) -> Outlook:
    (found,) = (each for each in answer.outlooks if each.benchmark == label)
    return found


def test_nothing_is_measured_and_nothing_is_written(project: Path) -> None:
    before = git(project, "status", "--porcelain")
    fakes = Fakes(EQUAL)
    answer = foreseen(project, fakes)
    assert fakes.launchers == []
    assert not (project / ".regress").exists()
    assert git(project, "status", "--porcelain") == before
    assert (answer.base.name, answer.base.commit) == ("HEAD~1", git(project, "rev-parse", "HEAD~1"))
    assert (answer.head.name, answer.head.commit) == ("HEAD", git(project, "rev-parse", "HEAD"))
    assert (answer.suite, answer.platform, answer.mode) == ("commit", PLATFORM.key, "resident")
    assert [answer.min_change, answer.must_see, answer.false_alarms] == pytest.approx([0.05, 0.15, 0.01])
    assert (answer.looks, answer.others, answer.spare) == ((3, 5, 8), 1, 2)


def test_without_a_history_nobody_knows(project: Path) -> None:
    answer = foreseen(project)
    assert (answer.block_s, answer.seconds) == (None, None)
    for label in (DDP, FSDP):
        found = outlook(answer, label)
        assert (found.sd, found.prospects, found.enough, found.fewest) == (None, (), None, 5)


def test_a_history_says_what_each_look_finds(project: Path) -> None:
    answer = measured(project, Fakes(NOISY))
    found = outlook(foreseen(project))
    assert found.launches == 2 * step_of(answer, DDP).base.launches
    assert found.sd == pytest.approx(0.03 * math.sqrt(2), rel=0.5)
    assert [each.blocks for each in found.prospects] == [3, 5, 8]
    assert all(each.claims for each in found.prospects)
    sizes = [each.detectable for each in found.prospects]
    assert None not in sizes
    assert sizes[0] > sizes[1] > sizes[2] > 0.05  # type: ignore[operator]


def test_what_is_found_is_what_a_comparison_with_that_noise_would_find(project: Path) -> None:
    """Each look at its share of the level of the first step of Holm: two benchmarks, three looks."""
    measured(project, Fakes(NOISY))
    answer, known = foreseen(project), Fakes(EQUAL)
    measured(project, known)
    (noise,) = (each for each in known.undertakings[0].noise if each.benchmark == DDP)
    assert noise.sd is not None
    bare = Estimate(
        worse=0.0,
        sd=noise.sd,
        se=1.0,
        df=noise.df,
        launches=(8, 8),
        design="paired",
        direction="lower",
        prior=prior_from(noise),
    )
    criteria = Criteria(min_change=0.05, must_see=0.15, false_alarms=0.01)
    expected = [
        sees(bare, criteria, share * 0.01 / 2, blocks) for blocks, share in ((3, 0.5), (5, 0.25), (8, 0.25))
    ]
    assert [each.detectable for each in outlook(answer).prospects] == expected
    enough = outlook(answer).enough
    assert enough is not None
    assert sees(bare, criteria, 0.25 * 0.01 / 2, enough) <= 0.15
    assert enough == outlook(answer).fewest or sees(bare, criteria, 0.25 * 0.01 / 2, enough - 1) > 0.15


def test_below_the_fewest_blocks_nothing_is_claimed(project: Path, suite: Path) -> None:
    """Two blocks of history are four launches: three more blocks make ten."""
    suite.write_text(TWO_LOOKS.replace("count: 8", "count: 2"))
    measured(project, Fakes(NOISY))
    suite.write_text(TWO_LOOKS.replace("looks: [3, 5]", "looks: [2, 5]"))
    found = outlook(foreseen(project))
    assert (found.launches, found.fewest) == (4, 3)
    assert [(each.blocks, each.claims) for each in found.prospects] == [(2, False), (5, True), (8, True)]
    assert found.prospects[0].detectable is None


def test_it_takes_as_long_as_the_last_blocks_did(project: Path) -> None:
    """A block of both benchmarks takes 0.18 s, the one alone twice as long."""
    measured(project, Fakes(EQUAL))
    answer = foreseen(project)
    assert answer.block_s == pytest.approx(0.18, rel=0.05)
    assert answer.seconds == pytest.approx(10 * (answer.block_s or 0.0))


def test_a_budget_changes_the_plan(project: Path) -> None:
    measured(project, Fakes(EQUAL))
    assert foreseen(project, most_blocks=12).looks == (3, 5, 12)
    timed = foreseen(project, budget_s=2.0)
    assert (timed.looks, timed.budget_s) == ((3, 5, 9), 2.0)
    assert timed.seconds == pytest.approx(11 * 0.18, rel=0.05)
    assert foreseen(project, budget_s=0.1).seconds == 0.1


def test_what_base_lacks_is_new_and_no_part_of_the_family(project: Path) -> None:
    answer = foreseen(project, Fakes(EQUAL, base=ONLY_DDP))
    assert [each.benchmark for each in answer.outlooks] == [DDP]
    assert answer.new == (FSDP,)


def test_a_bias_of_the_machine_counts(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measured(project, Fakes(EQUAL))
    sound = foreseen(project)

    def biased(site: Site, undertaking: Undertaking) -> tuple[Noise, ...]:
        return tuple(replace(noise, bias=0.03) for noise in noise_before(site, undertaking))

    monkeypatch.setattr("regress.flows.foresee.noise_before", biased)
    answer = foreseen(project)
    assert answer.min_change == pytest.approx(0.12)
    assert len(answer.notes) == 1
    assert outlook(answer).bias == 0.03
    least = [outlook(each).prospects[-1].detectable or 0.0 for each in (sound, answer)]
    assert least[1] > 0.12 > least[0]


def test_gpus_measure_each_side_alone(project: Path) -> None:
    answer = foreseen(
        project, Fakes(EQUAL, base=replace(CATALOG, device="cuda"), head=replace(CATALOG, device="cuda"))
    )
    assert (answer.mode, answer.others, answer.looks) == ("alone", 0, (3, 5, 9))


def test_what_is_stored_is_refused(project: Path) -> None:
    measured(project, Fakes(EQUAL))
    base, head = (run.manifest.run for run in stored_runs(project))
    with pytest.raises(RequestError, match=r"--plan is for sides that are measured together"):
        foreseen(project, base=base, head=head)


def test_launches_that_agreed_to_the_last_digit_have_some_noise(project: Path) -> None:
    measured(project, Fakes(paced({"base": Pace(), "head": Pace()}, noise=0.0)))
    found = outlook(foreseen(project))
    assert found.sd == pytest.approx(0.0, abs=1e-9)
    sizes = [each.detectable or 0.0 for each in found.prospects]
    assert sizes == [pytest.approx(0.05, rel=0.01)] * 3
    assert min(sizes) > 0.05 * 1.0001


def test_a_working_tree_has_no_commit(project: Path) -> None:
    (project / "model.py").write_text("WIDTH = 3\n")
    answer = foreseen(project, base="HEAD", head="WORKTREE")
    assert (answer.head.name, answer.head.commit) == ("WORKTREE", None)
