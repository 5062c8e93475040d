"""Calibrations never change, and what is damaged is never taken for none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from regress.errors import StoreError
from regress.record.calibration import Calibration
from regress.store.calibrations import latest, list_calibrations, read_calibration, write_calibration
from tests.report.test_calibration import calibration

PLATFORM = calibration().platform.key


def test_it_is_read_back(tmp_path: Path) -> None:
    assert list_calibrations(tmp_path) == ()
    file = write_calibration(tmp_path, calibration())
    assert file == tmp_path / "calibrations" / "20250530T220117Z-5c11d0aa.json"
    assert read_calibration(file) == calibration()
    assert list_calibrations(tmp_path) == (file,)


def test_it_is_never_replaced(tmp_path: Path) -> None:
    file = write_calibration(tmp_path, calibration())
    with pytest.raises(StoreError, match="stored files are never replaced"):
        write_calibration(tmp_path, calibration(rounds=3))
    assert read_calibration(file) == calibration()


@pytest.mark.parametrize("wrong", [calibration(calibration="../../x"), calibration(started="../../x")])
def test_a_name_leads_nowhere_else(tmp_path: Path, wrong: Calibration) -> None:
    with pytest.raises(StoreError, match="cannot name the file of a calibration"):
        write_calibration(tmp_path, wrong)
    assert list(tmp_path.iterdir()) == []


def test_runs_and_half_written_files_beside_it_are_passed_over(tmp_path: Path) -> None:
    file = write_calibration(tmp_path, calibration())
    (file.parent / "smoke").mkdir()
    (file.parent / ".aside-1").write_text("x")
    assert list_calibrations(tmp_path) == (file,)


def test_the_latest_is_that_of_platform_mode_and_suite(tmp_path: Path) -> None:
    days = {
        "00000001": calibration(),
        "00000002": calibration(suite="other"),
        "00000003": calibration(mode="alone"),
        "00000004": calibration(platform=replace(calibration().platform, cores=9)),
    }
    for day, (name, each) in enumerate(days.items(), 1):
        started = f"2026-01-0{day}T00:00:00+00:00"
        write_calibration(tmp_path, replace(each, calibration=name, started=started))

    def found(*asked: str) -> str | None:
        last = latest(tmp_path, *asked)  # type: ignore[arg-type]
        return None if last is None else last.calibration

    assert found(PLATFORM, "resident") == "00000002"
    assert found(PLATFORM, "resident", "smoke") == "00000001"
    assert found(PLATFORM, "resident", "unheard") == "00000002"
    assert found(PLATFORM, "alone", "smoke") == "00000003"
    assert found("another", "resident") is None


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (lambda content: content[:-20], "not JSON"),
        (lambda content: content.replace(b'"rounds": 10', b'"rounds": 11'), "damaged: its checksum"),
        (lambda content: content.replace(b"calibration/1", b"calibration/2"), "'regress.calibration/2'"),
        (lambda _: b"", "not JSON"),
    ],
    ids=["cut off", "changed", "of another version", "empty"],
)
def test_what_is_damaged_is_named_and_no_other_is_taken(
    tmp_path: Path, damage: Callable[[bytes], bytes], why: str
) -> None:
    write_calibration(tmp_path, replace(calibration(), calibration="00000001"))
    file = write_calibration(tmp_path, calibration())
    content = damage(file.read_bytes())
    file.unlink()
    file.write_bytes(content)
    with pytest.raises(StoreError, match=f"{file.name}.*{why}.*calibrate again"):
        latest(tmp_path, PLATFORM, "resident")
