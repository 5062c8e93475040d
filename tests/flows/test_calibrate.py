"""Whole calibrations with launches that follow a script: from a suite to what the platform sees."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from regress.errors import RequestError, StoreError
from regress.flows.baseline import bless
from regress.flows.calibrate import FEWEST_ROUNDS, CalibrateRequest, calibrate
from regress.flows.listing import listing
from regress.flows.undertaking import Means
from regress.flows.workplace import Workplace
from regress.launch.fake import PLATFORM, FakeLauncher, Pace, Script, failing, paced
from regress.launch.launcher import Job, Report
from regress.launch.lock import HostLock
from regress.record.calibration import BenchmarkCalibration, Calibration, Slowdown
from regress.record.outcome import Outcome
from regress.record.run import Run
from regress.record.series import RankSeries
from regress.spec.benchmark import Benchmark
from regress.stats.calibration import sight
from regress.store.calibrations import (
    calibration_runs,
    list_calibrations,
    read_calibration,
    write_calibration,
)
from regress.store.runs import list_runs, read_run
from regress.store.runset import RunSet
from tests.flows.project import CATALOG, DDP, FSDP, Fakes, measured

SOUND = paced(defaultdict(Pace))
"""Every side alike."""

LEANING = paced(defaultdict(Pace, {f"{arm}.2": Pace(step_s=0.0103) for arm in ("equal", "kernel-20")}))
"""The second side of every arm is slower by 3 %."""

CRASH = Outcome(kind="died", rank=1, status=-9, message="ended by SIGKILL")
KERNEL, STALL = Slowdown(kind="kernel", fraction=0.2), Slowdown(kind="stall", fraction=0.02)


class Heard:
    """Progress that remembers what was said."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def say(self, text: str) -> None:
        self.said.append(text)

    def at(self, done: float, what: str) -> None:
        assert 0 <= done <= 1, what


def calibrated(
    root: Path,
    script: Callable[..., object] = SOUND,
    *,
    fakes: Fakes | None = None,
    heard: Heard | None = None,
    **asked: object,
) -> Calibration:
    """Calibrate with fakes: six blocks, one slowdown."""
    given: dict[str, object] = {"blocks": 6, "planted": (KERNEL,), "means": Means(seed=4), **asked}
    request = CalibrateRequest(suite="commit", **given)  # type: ignore[arg-type]
    fakes = fakes or Fakes(script)  # type: ignore[arg-type]
    return calibrate(Workplace.around(root), request, heard or Heard(), fakes.machinery)


def of(answer: Calibration, label: str = DDP) -> BenchmarkCalibration:
    (found,) = (each for each in answer.benchmarks if each.benchmark == label)
    return found


def store(root: Path) -> Path:
    return root / ".regress" / "store"


def runs(root: Path) -> list[Run]:
    found = [read_run(folder) for folder in list_runs(calibration_runs(store(root)))]
    return sorted(found, key=lambda run: run.manifest.role)


def asked(root: Path) -> Counter[tuple[int, str, str]]:
    """Block, side and benchmark of all that is kept."""
    return Counter(
        (launch.block, run.manifest.role, each.benchmark)
        for run in runs(root)
        for launch in run.launches
        for each in launch.measurements
    )


def test_a_planted_slowdown_is_measured_and_found_and_equal_sides_are_not(project: Path) -> None:
    answer = calibrated(project)
    found = of(answer)
    (planted,) = found.planted
    assert planted.planted == pytest.approx(0.2, abs=0.01)
    assert planted.low < 0.2 < planted.high
    assert planted.high - planted.low < 0.02
    assert planted.detection is not None
    assert (planted.detection.found, planted.detection.resampled) == (1, 1)  # six blocks of six
    assert found.false_alarms is not None
    assert (found.false_alarms.found, found.false_alarms.resampled) == (0, 200)
    assert found.bias is not None
    assert found.bias.low < 0 < found.bias.high
    assert found.bias.bound == max(-found.bias.low, found.bias.high)
    assert answer.shift(DDP) == 0 == answer.shift("nobody")  # nothing says that equal sides differ


def test_noise_is_what_the_script_makes_of_it(project: Path) -> None:
    noise = of(calibrated(project, paced(defaultdict(Pace), noise=0.02), blocks=40, planted=())).noise
    assert noise.between_launches == pytest.approx(0.02, rel=0.25)
    assert noise.of_differences == pytest.approx(0.02 * 2**0.5, rel=0.35)
    assert noise.within_launch == pytest.approx(0.02, rel=0.35)
    assert (noise.df, noise.between_days) == (39, None)


def test_the_step_is_that_of_plain_sides(project: Path) -> None:
    assert of(calibrated(project)).step_s == pytest.approx(0.01, rel=0.01)


def test_a_side_that_is_slower_by_itself_is_bias_and_no_part_of_the_slowdown(project: Path) -> None:
    found = of(calibrated(project, LEANING))
    assert found.bias is not None
    assert found.bias.mean == pytest.approx(0.03, abs=0.005)
    assert found.bias.low > 0.02
    assert found.planted[0].measured == pytest.approx(0.2, abs=0.01)


def test_a_bias_that_is_shown_is_what_counts_from_then_on(project: Path) -> None:
    sound, leaning = calibrated(project), calibrated(project, LEANING, means=Means(seed=5))
    assert (sound.asked_min_change, sound.min_change) == (0.05, 0.05)
    assert sound.must_see == pytest.approx(0.15)
    bound = max(leaning.shift(label) for label in (DDP, FSDP))
    assert bound == max(each.bias.bound for each in leaning.benchmarks if each.bias is not None) > 0.03
    assert leaning.asked_min_change == 0.05
    assert leaning.min_change == pytest.approx(4 * bound)
    assert leaning.must_see == sound.must_see
    assert of(leaning).sights[-1].detectable > leaning.min_change
    assert of(sound).sights[-1].detectable < 0.06
    alarm = of(leaning).planted[0].detection
    assert alarm is not None
    assert alarm.found == 1  # 20 % are still seen


def test_no_number_of_blocks_sees_through_a_bias_beyond_what_must_be_seen(project: Path) -> None:
    sides = {f"{arm}.2": Pace(step_s=0.0105) for arm in ("equal", "kernel-20")}
    answer = calibrated(project, paced(defaultdict(Pace, sides)))
    assert answer.min_change > 0.15
    assert of(answer).recommended is None
    assert of(calibrated(project, means=Means(seed=5))).recommended == 5


def test_what_is_seen_is_seen_through_noise_and_bias(project: Path) -> None:
    answer = calibrated(project, paced(defaultdict(Pace), noise=0.02))
    found = of(answer)
    assert found.bias is not None
    assert found.noise.of_differences is not None
    for seen in found.sights:
        assert seen.detectable == sight(
            found.noise.of_differences,
            seen.blocks,
            level=0.01 / 2,
            min_change=answer.min_change,
            bias=found.bias.shift,
        )
    assert [seen.blocks for seen in found.sights] == [3, 5, 10]


def test_either_side_is_slowed_equally_often_and_the_other_by_nothing(project: Path) -> None:
    fakes = Fakes(SOUND)
    calibrated(project, fakes=fakes)
    slowed: list[str] = []
    for job in fakes.launchers[0].jobs:
        slowdowns = {request.side: request.slowdown for request in job.requests}
        if "equal.1" in slowdowns:
            assert set(slowdowns.values()) == {None}
            continue
        assert set(slowdowns) == {"kernel-20.1", "kernel-20.2"}
        assert set(slowdowns.values()) == {KERNEL, replace(KERNEL, fraction=0.0)}
        slowed += [side for side, slowdown in slowdowns.items() if slowdown == KERNEL]
    assert Counter(slowed) == {"kernel-20.1": 3, "kernel-20.2": 3}


def test_a_round_holds_each_arm_once_after_one_block_alone(project: Path) -> None:
    fakes = Fakes(SOUND)
    calibrated(project, fakes=fakes, planted=(KERNEL, STALL))
    jobs = fakes.launchers[0].jobs
    arms = [job.requests[0].side.partition(".")[0] for job in jobs]
    assert len(jobs) == 1 + 3 * 6
    assert (arms[0], jobs[0].alone) == ("equal", True)
    assert not any(job.alone or job.counted for job in jobs[1:])
    for start in range(1, len(arms), 3):
        assert set(arms[start : start + 3]) == {"equal", "kernel-20", "stall-2"}
    assert len({tuple(arms[start : start + 3]) for start in range(1, len(arms), 3)}) > 1
    assert fakes.launchers[0].renewals == len(jobs)


def test_the_first_block_counts_for_nothing(project: Path) -> None:
    def cold(job: Job, side: str, benchmark: Benchmark) -> tuple[RankSeries, ...] | Outcome:
        pace = Pace(step_s=5.0 if job.block == 0 and side == "equal.1" else 0.01)
        return paced(defaultdict(lambda: pace))(job, side, benchmark)

    assert (
        of(calibrated(project, cold)).noise
        == of(calibrated(project, SOUND, means=Means(seed=4, fresh=True))).noise
    )


def test_the_same_code_lies_in_two_folders_of_equal_length(project: Path) -> None:
    fakes = Fakes(SOUND)
    answer = calibrated(project, fakes=fakes)
    paths = {
        request.side[-1]: request.code.path for job in fakes.launchers[0].jobs for request in job.requests
    }
    (first, *_), (second, *_) = paths["1"], paths["2"]
    assert first != second
    assert len(first) == len(second)
    assert (Path(first) / "model.py").read_text() == (Path(second) / "model.py").read_text() == "WIDTH = 2\n"
    assert {run.manifest.commit for run in runs(project)} == {answer.code}


def test_without_being_asked_it_plants_little_and_what_must_be_seen(project: Path) -> None:
    answer = calibrated(project, planted=None, blocks=None)
    assert list(map(str, answer.slowdowns)) == ["kernel 2 %", "kernel 15 %"]
    assert (answer.rounds, answer.planned, of(answer).blocks) == (10, 10, 10)
    small, large = (each.detection for each in of(answer).planted)
    assert small is not None
    assert large is not None
    assert (small.found, small.resampled) == (0, 200)  # below min_change
    assert (large.found, large.blocks, large.independent) == (200, 6, 1)


def test_nothing_of_it_is_history(project: Path) -> None:
    calibrated(project)
    assert list_runs(store(project)) == ()
    assert {run.manifest.purpose for run in runs(project)} == {"calibration"}
    assert all(run.complete for run in runs(project))
    assert listing(Workplace.around(project), None, Fakes(SOUND).machinery).runs == ()
    planted = {
        each.planted_s
        for run in runs(project)
        for launch in run.launches
        for each in launch.measurements
        if run.manifest.role.startswith("equal")
    }
    assert planted == {None}
    measured(project, Fakes(SOUND))
    assert {read_run(folder).manifest.purpose for folder in list_runs(store(project))} == {"comparison"}


def test_that_others_used_the_machine_is_told(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shares = itertools.chain([0.05, 0.4, 0.2], itertools.repeat(0.01))
    told = FakeLauncher.run

    def busy(self: FakeLauncher, *asked: Any) -> tuple[Report, ...]:
        return tuple(replace(report, foreign_cpu=next(shares)) for report in told(self, *asked))

    assert calibrated(project).notes == ()
    monkeypatch.setattr(FakeLauncher, "run", busy)
    (note,) = calibrated(project, means=Means(seed=5)).notes
    assert "others used 10 % of its cores and more in 2 of 26 launches, up to 40 %" in note


@pytest.mark.parametrize("canary", [True, False])
def test_the_canary_is_looked_at_as_the_project_has_it(project: Path, canary: bool) -> None:
    (project / "configs" / "project.yaml").write_text(f"canary: {str(canary).lower()}\n")
    fakes = Fakes(SOUND)
    calibrated(project, fakes=fakes)
    assert fakes.undertakings[0].canary is canary


def test_none_of_its_runs_becomes_a_baseline(project: Path) -> None:
    calibrated(project)
    for run in runs(project):
        with pytest.raises(RequestError, match="was measured for a calibration, perhaps slowed down"):
            bless(Workplace.around(project), run.folder, "")


def test_it_is_kept_and_read_back(project: Path) -> None:
    answer = calibrated(project)
    (file,) = list_calibrations(store(project))
    assert read_calibration(file) == answer
    assert answer.folder == str(file.parent)


class Interrupting:
    """Follows a script up to the n-th measurement, and then raises."""

    def __init__(self, script: Script, after: int) -> None:
        self._script, self._after = script, after
        self.asked = 0

    def __call__(self, job: Job, side: str, benchmark: Benchmark) -> tuple[RankSeries, ...] | Outcome:
        if self.asked == self._after:
            raise KeyboardInterrupt
        self.asked += 1
        return self._script(job, side, benchmark)


@pytest.mark.parametrize("after", [0, 1, 4, 13, 30, 51])
def test_interrupted_anywhere_it_goes_on_to_the_same_answer(
    project: Path, tmp_path: Path, after: int
) -> None:
    def essence(answer: Calibration) -> Calibration:
        return replace(answer, calibration="", started="", seconds=0.0)

    expected = essence(calibrated(project))
    whole = asked(project)
    (project / ".regress").rename(tmp_path / "uninterrupted")
    with pytest.raises(KeyboardInterrupt):
        calibrated(project, Interrupting(SOUND, after))
    before = sum(asked(project).values())
    assert not list_calibrations(store(project))
    rest = Interrupting(SOUND, 10**9)
    assert essence(calibrated(project, rest)) == expected
    assert asked(project) == whole
    assert before + rest.asked == sum(whole.values())


def test_another_slowdown_is_another_calibration(project: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        calibrated(project, Interrupting(SOUND, 20))
    rest = Interrupting(SOUND, 10**9)
    calibrated(project, rest, planted=(replace(KERNEL, fraction=0.3),))
    assert rest.asked == 2 * 2 * (1 + 2 * 6)


def test_killed_after_it_was_written_it_is_not_written_twice(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(RunSet, "close", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            calibrated(project)
    (file,) = list_calibrations(store(project))
    assert calibrated(project, Interrupting(SOUND, 0)) == read_calibration(file)
    assert list_calibrations(store(project)) == (file,)
    assert all(run.complete for run in runs(project))


def test_a_budget_ends_it_between_rounds(project: Path) -> None:
    whole = calibrated(project)
    block_s = whole.seconds / 13
    answer = calibrated(project, means=Means(seed=5, budget_s=9.5 * block_s))
    assert (answer.rounds, answer.planned) == (4, 6)
    assert (of(answer).blocks, of(answer).planted[0].blocks, of(answer).lost) == (4, 4, 0)
    assert all(run.complete for run in runs(project))


def test_a_budget_too_small_leaves_what_shows_noise(project: Path) -> None:
    answer = calibrated(project, means=Means(seed=4, budget_s=1e-9))
    assert answer.rounds == FEWEST_ROUNDS
    assert of(answer).noise.of_differences is not None
    assert of(answer).false_alarms is None  # nothing is claimed on two blocks


def test_it_says_how_long_it_takes(project: Path) -> None:
    first, second = Heard(), Heard()
    calibrated(project, heard=first)
    assert "13 blocks; the first one tells how long they take" in first.said
    assert [text for text in first.said if text.startswith("13 blocks of about ")]
    calibrated(project, heard=second, means=Means(seed=5, budget_s=600.0))
    told = [text for text in second.said if "13 blocks" in text]
    assert len(told) == 2
    assert all("of about" in text and text.endswith(", or until 10 m 0 s are spent") for text in told)


def test_a_comparison_of_the_suite_tells_how_long_it_takes(project: Path) -> None:
    measured(project, Fakes(SOUND))
    heard = Heard()
    calibrated(project, heard=heard)
    assert len([text for text in heard.said if text.startswith("13 blocks of about ")]) == 2


def test_stalls_are_looked_for_in_the_mean_which_they_move(project: Path) -> None:
    """One step of nine takes 18 % of ten steps more: the median hardly moves, the mean by a fifth."""
    (found,) = of(calibrated(project, planted=(replace(STALL, fraction=0.18),))).planted
    assert found.metric == "step_mean_s"
    assert found.planted == pytest.approx(0.2, abs=0.01)
    assert found.low < 0.2 < found.high
    assert found.detection is not None
    assert found.detection.found == 0  # what is tested is the median


def test_sides_start_in_an_order_and_then_in_its_reverse(project: Path) -> None:
    fakes = Fakes(SOUND)
    calibrated(project, fakes=fakes, blocks=7)
    orders = defaultdict(list)
    for job in fakes.launchers[0].jobs:
        sides = tuple(request.side for request in job.requests)
        orders[sides[0].partition(".")[0]].append(sides)
    for theirs in orders.values():
        for first, second in zip(theirs[::2], theirs[1::2], strict=False):
            assert second == first[::-1]
    assert {len(theirs) for theirs in orders.values()} == {7, 8}


def test_blocks_in_which_a_side_fails_are_lost_and_counted(project: Path) -> None:
    script = failing(SOUND, CRASH, sides=["equal.2"], name="ddp", blocks=range(1, 5))
    sound = calibrated(project)
    answer = calibrated(project, script, means=Means(seed=4, fresh=True))
    found = of(answer)
    assert found.lost == 6 - found.blocks > 0
    assert of(answer, FSDP) == of(sound, FSDP)
    assert found.planted == of(sound).planted


def test_of_what_always_fails_nothing_is_known(project: Path) -> None:
    sides = [f"{arm}.{side}" for arm in ("equal", "kernel-20") for side in (1, 2)]
    found = of(calibrated(project, failing(SOUND, CRASH, sides=sides, name="ddp")))
    assert (found.blocks, found.lost, found.step_s, found.bias, found.sights) == (0, 12, None, None, ())
    assert (found.recommended, found.false_alarms, found.planted) == (None, None, ())


def test_on_cuda_each_side_is_alone_unless_both_are_to_be_resident(project: Path) -> None:
    catalog = replace(CATALOG, device="cuda")
    fakes = Fakes(SOUND, base=catalog, head=catalog)
    assert calibrated(project, fakes=fakes).mode == "alone"
    assert all(job.alone for job in fakes.launchers[0].jobs)
    fakes = Fakes(SOUND, base=catalog, head=catalog)
    assert calibrated(project, fakes=fakes, means=Means(resident=True)).mode == "resident"
    assert [job.alone for job in fakes.launchers[0].jobs] == [True] + [False] * 12


@pytest.mark.parametrize(("peak_bytes", "fits"), [(5 << 30, False), (3 << 30, True)])
def test_sides_that_do_not_fit_together_are_refused_once_each_was_alone(
    project: Path, monkeypatch: pytest.MonkeyPatch, peak_bytes: int, fits: bool
) -> None:
    gpus = replace(PLATFORM, devices=("GPU",) * 2, device_memory_bytes=8 << 30)

    def large(job: Job, side: str, benchmark: Benchmark) -> tuple[RankSeries, ...] | Outcome:
        ranks = SOUND(job, side, benchmark)
        assert isinstance(ranks, tuple)
        return tuple(replace(rank, peak_reserved_bytes=peak_bytes) for rank in ranks)

    catalog = replace(CATALOG, device="cuda", platform=gpus)
    fakes = Fakes(large, base=catalog, head=catalog)
    monkeypatch.setattr("regress.launch.fake.PLATFORM", gpus)
    if fits:
        assert calibrated(project, fakes=fakes, means=Means(resident=True)).mode == "resident"
        return
    with pytest.raises(RequestError, match="both sides do not fit on one GPU"):
        calibrated(project, fakes=fakes, means=Means(resident=True))
    assert [job.alone for job in fakes.launchers[0].jobs] == [True]


def test_the_devices_that_it_uses_are_claimed(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    claimed: list[object] = []
    monkeypatch.setattr(HostLock, "claim", lambda _, devices: claimed.append(devices))
    gpus = replace(PLATFORM, devices=("GPU",) * 4, device_ids=("a", "b", "c", "d"))
    catalog = replace(CATALOG, device="cuda", platform=gpus)
    calibrated(project, fakes=Fakes(SOUND, base=catalog, head=catalog))
    assert claimed == [("a", "b")]


def test_days_are_told_apart_where_the_same_code_was_measured_before(project: Path) -> None:
    first = calibrated(project)
    assert (of(first).noise.between_days, of(first).noise.days) == (None, 0)
    step_s = of(first).step_s
    assert step_s is not None
    benchmarks = tuple(replace(each, step_s=1.1 * step_s) for each in first.benchmarks)
    earlier = replace(
        first, calibration="0000000a", started="2020-01-01T00:00:00+00:00", benchmarks=benchmarks
    )
    write_calibration(store(project), earlier)
    noise = of(calibrated(project, means=Means(seed=5))).noise
    assert noise.days == 2
    assert noise.between_days == pytest.approx(0.0953 / 2**0.5, rel=0.1)


@pytest.mark.parametrize(
    "change", [{"platform": replace(PLATFORM, cores=3)}, {"mode": "alone"}, {"code": "b" * 40}], ids=str
)
def test_what_was_measured_otherwise_is_no_day_of_it(project: Path, change: dict[str, object]) -> None:
    first = calibrated(project)
    earlier = replace(first, calibration="0000000a", started="2020-01-01T00:00:00+00:00")
    write_calibration(store(project), replace(earlier, **change))  # type: ignore[arg-type]
    assert of(calibrated(project, means=Means(seed=5))).noise.between_days is None


def test_code_that_no_commit_has_has_no_days(project: Path) -> None:
    (project / "model.py").write_text("WIDTH = 3\n")
    answer = calibrated(project)
    assert answer.code == ""
    earlier = replace(answer, calibration="0000000a", started="2020-01-01T00:00:00+00:00")
    write_calibration(store(project), earlier)
    assert of(calibrated(project, means=Means(seed=5))).noise.days == 0


def test_a_damaged_calibration_is_named_before_anything_is_measured(project: Path) -> None:
    calibrated(project)
    (file,) = list_calibrations(store(project))
    file.chmod(0o644)
    file.write_bytes(file.read_bytes().replace(b'"rounds": 6', b'"rounds": 7'))
    fakes = Fakes(SOUND)
    with pytest.raises(StoreError, match=rf"{file.name}: damaged"):
        calibrated(project, fakes=fakes, means=Means(seed=5))
    assert fakes.launchers == []


def test_one_block_shows_no_noise(project: Path) -> None:
    with pytest.raises(RequestError, match="fewer than 2 blocks"):
        calibrated(project, blocks=1)
    assert not store(project).exists()
