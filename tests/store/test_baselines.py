"""Baselines are replaced whole, and what is damaged is never taken for none."""

from __future__ import annotations

import multiprocessing
import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

from regress.errors import StoreError
from regress.record.baseline import Baseline, bless, encode_baseline
from regress.record.codec import encode
from regress.record.platform import Platform
from regress.store.baselines import baseline_file, find, list_baselines, read_baseline, write_baseline
from tests.verdict.runs import PLATFORM, measured, steps

GPU = Platform(host="n", cpu="c", cores=8, memory_bytes=1 << 30, devices=("AMD Instinct MI250X/MI250",) * 2)


def baseline(run: str = "11111111", platform: Platform = PLATFORM) -> Baseline:
    return replace(bless(measured(steps()), platform, blessed="2026-01-01T00:00:00+00:00"), run=run)


def test_a_baseline_is_read_back_and_replaced(tmp_path: Path) -> None:
    assert find(tmp_path, "smoke", PLATFORM) is None
    assert list_baselines(tmp_path) == ()
    file = write_baseline(tmp_path, baseline())
    assert file == tmp_path / "baselines" / "smoke" / f"{PLATFORM.key}.json"
    assert find(tmp_path, "smoke", replace(PLATFORM, host="node2")) == baseline()
    assert write_baseline(tmp_path, baseline("22222222")) == file
    assert find(tmp_path, "smoke", PLATFORM) == baseline("22222222")
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_platforms_have_files_of_their_own_and_any_model_has_a_name(tmp_path: Path) -> None:
    files = [write_baseline(tmp_path, baseline(platform=each)) for each in (PLATFORM, GPU)]
    (tmp_path / "baselines" / "README.md").write_text("x")
    (tmp_path / "baselines" / "smoke" / ".aside-1.json").write_text("x")
    assert list_baselines(tmp_path) == list_baselines(tmp_path, "smoke") == tuple(sorted(files))
    assert list_baselines(tmp_path, "other") == list_baselines(tmp_path, "../smoke") == ()
    assert find(tmp_path, "smoke", GPU) == baseline(platform=GPU)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "not JSON: "),
        (b"<<<<<<< HEAD\n{}\n=======\n{}\n>>>>>>> topic\n", "not JSON: "),
        (b"\xff\xfe", "not JSON: "),
        (b"{}", "not a record: "),
        (encode_baseline(baseline()).replace(b'"attempt": 0', b'"attempt": 1', 1), "damaged: "),
        (encode("regress.baseline/2", baseline()), "it is a 'regress.baseline/2'"),
        (encode_baseline(baseline(platform=GPU)), "it is that of suite 'smoke' on '2xamd-instinct"),
        (encode_baseline(replace(baseline(), suite="other")), "it is that of suite 'other' on "),
        (encode_baseline(replace(baseline(), suite="../../x")), "cannot name the folder of a suite"),
    ],
    ids=["empty", "conflict", "no text", "no record", "edited", "schema", "platform", "suite", "path"],
)
def test_what_is_damaged_is_named_and_never_taken_for_none(tmp_path: Path, content: bytes, why: str) -> None:
    file = write_baseline(tmp_path, baseline())
    file.write_bytes(content)
    with pytest.raises(StoreError, match=re.escape(why)) as refused:
        find(tmp_path, "smoke", PLATFORM)
    assert len(str(refused.value).splitlines()) == 1
    if why != "cannot name the folder of a suite":
        assert str(refused.value).startswith(f"{file}: {why}")
        assert str(refused.value).endswith("; restore it with git, or delete it and bless a run again")


def test_a_dangling_link_is_no_absence(tmp_path: Path) -> None:
    file = baseline_file(tmp_path, "smoke", PLATFORM)
    file.parent.mkdir(parents=True)
    file.symlink_to("nowhere")
    with pytest.raises(StoreError, match="cannot be read"):
        find(tmp_path, "smoke", PLATFORM)


def test_other_hardware_of_the_same_short_name_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_baseline(tmp_path, baseline())
    key = PLATFORM.key
    monkeypatch.setattr(Platform, "key", property(lambda _: key))
    with pytest.raises(StoreError, match="it is that of other hardware with the same short name"):
        find(tmp_path, "smoke", replace(PLATFORM, cores=64))


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "baselines").write_text("a file")
    with pytest.raises(StoreError, match="cannot be written"):
        write_baseline(tmp_path, baseline())


def write_often(root: Path, run: str) -> None:
    for _ in range(40):
        write_baseline(root, baseline(run))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_of_two_writers_one_wins_whole(tmp_path: Path) -> None:
    write_baseline(tmp_path, baseline())
    fork = multiprocessing.get_context("fork")
    writers = [fork.Process(target=write_often, args=(tmp_path, run * 8)) for run in "23"]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        assert read_baseline(baseline_file(tmp_path, "smoke", PLATFORM)).run[0] in "123"
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    assert len(list((tmp_path / "baselines" / "smoke").iterdir())) == 1
