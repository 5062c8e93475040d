from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import replace

import pytest
from rich.cells import cell_len

from regress.record.diagnosis import Check, Diagnosis, Interpreter
from regress.report.diagnosis import render, sentence

CPU = Interpreter(
    environment=None, python="/usr/bin/python3", torch="2.13.0+cpu", device="cpu", backend="gloo", ranks=2
)
GPU = replace(CPU, environment="nightly", device="cuda", backend="nccl", ranks=8)
NONE = replace(CPU, torch=None, device=None, backend=None, ranks=None)

FINE = Check(name="torch", state="fine", text="2.13.0+cpu in /usr/bin/python3")
LOAD = Check(
    name="other load",
    state="disturbs",
    text="others keep 1.3 of 2 cores busy: train.py (pid 4242) 1.2",
    advice="end these programs, or measure when they have ended",
)
GOVERNOR = Check(name="CPU governor", state="disturbs", text="powersave", advice="`cpupower` sets it")
SUITE = Check(
    name="suite commit",
    state="wrong",
    text="configs/commit.yaml:4: unknown key 'nme'; did you mean 'name'?",
    advice="correct it",
)
STORE = Check(name="store", state="stops", text="/data cannot be written", advice="make it writable")
TURBO = Check(name="turbo", state="unknown", text="")


def diagnosis(*checks: Check, interpreters: tuple[Interpreter, ...] = (CPU,)) -> Diagnosis:
    can = not any(check.state == "stops" for check in checks)
    return Diagnosis(
        host="laptop",
        can_measure=can,
        exit_status=0 if can else 3,
        interpreters=interpreters,
        checks=checks,
    )


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (diagnosis(FINE), "can measure 2 ranks on CPU with gloo; nothing known will disturb it"),
        (diagnosis(LOAD), "can measure 2 ranks on CPU with gloo; 1 thing will disturb it"),
        (
            diagnosis(LOAD, GOVERNOR, SUITE),
            "can measure 2 ranks on CPU with gloo; 2 things will disturb it; 1 thing does not work",
        ),
        (diagnosis(STORE, LOAD), "cannot measure anything: 1 thing to put right"),
        (
            diagnosis(FINE, interpreters=(NONE, GPU)),
            "can measure 8 ranks on GPUs with NCCL in environment nightly; nothing known will disturb it",
        ),
        (
            diagnosis(FINE, interpreters=(replace(CPU, ranks=1),)),
            "can measure 1 rank on CPU with gloo; nothing known will disturb it",
        ),
    ],
)
def test_the_verdict(found: Diagnosis, said: str) -> None:
    assert sentence(found) == f"this machine {said}"


def test_it_reads_as_agreed(golden: Callable[[str, str], None]) -> None:
    found = diagnosis(FINE, LOAD, SUITE, GOVERNOR, TURBO, STORE)
    golden("diagnosis.terminal.txt", render(found, width=100, color=False))


@pytest.mark.parametrize("width", [40, 80, 200])
def test_no_line_is_longer_than_the_terminal(width: int) -> None:
    text = render(diagnosis(FINE, LOAD, SUITE, TURBO), width=width, color=False)
    assert max(map(cell_len, text.splitlines())) <= width


def test_names_of_processes_steer_no_terminal() -> None:
    hostile = replace(LOAD, text="\x1b[2J\u202e[bold]x\n::error::", name="\x1b]0;x\x07name")
    text = render(diagnosis(hostile, replace(hostile, state="fine")), width=100, color=False)
    assert not [c for c in text if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Cs")]
    assert "[bold]x" in text
