"""A baseline is judged as the run that was blessed."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from regress.errors import RecordError
from regress.record.baseline import Baseline, as_run, bless, decode_baseline, encode_baseline
from regress.record.codec import encode
from regress.record.comparison import SuiteComparison
from regress.record.run import Run
from regress.verdict.judge import judge
from tests.record.strategies import TEXTS
from tests.verdict.runs import (
    FSDP,
    PLATFORM,
    POLICY,
    Samples,
    failure,
    launch,
    measured,
    measurement,
    merged,
    run,
    steps,
    with_samples,
)


def blessed(original: Run) -> Baseline:
    return bless(original, PLATFORM, blessed="2026-01-02T00:00:00+00:00", reason="first", replaces="00000000")


def answer(base: Run, head: Run) -> SuiteComparison:
    """The verdict, without the places of the runs."""
    found = judge(base, head, POLICY, command="")
    return replace(found, base=replace(found.base, folder=""))


def uneven() -> list[Samples]:
    """A phase in all launches, a count in two of them, and a metric that could not be measured."""
    samples = [{**each, "loss": 2.0, "forward_s": 0.03, "cpu_s": None} for each in steps(seed=1)]
    return [{**each, "collective_count": 14} if block < 2 else each for block, each in enumerate(samples)]


ORIGINALS = {
    "plain": measured(steps(seed=1), side="base"),
    "uneven": measured(uneven(), side="base"),
    "counts": measured(with_samples(steps(seed=1), flops=2**60 + 1, collective_count=0), side="base"),
    "two": merged(measured(steps(seed=1), side="base"), measured(steps(seed=3)[:4], side="base", label=FSDP)),
}


@pytest.mark.parametrize("original", ORIGINALS.values(), ids=ORIGINALS)
@pytest.mark.parametrize("change", [0.0, 0.2])
@pytest.mark.parametrize("comparison", ["c", "another"])
def test_a_baseline_is_judged_as_the_run_itself(original: Run, change: float, comparison: str) -> None:
    samples = with_samples(steps(change=change, seed=2), loss=2.5, collective_count=15)
    head = measured(samples, comparison=comparison)
    again = as_run(decode_baseline(encode_baseline(blessed(original))))
    assert answer(again, head) == answer(original, head)
    assert answer(again, head).comparisons


@settings(max_examples=50, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(data=st.data())
def test_any_values_and_texts_survive(data: st.DataObject) -> None:
    names = ("step_s", "step_mean_s", "collective_count", "loss", "flops")
    values = st.none() | st.integers(0, 2**62) | st.floats(0, 1e9, allow_nan=False)
    drawn = data.draw(st.lists(st.dictionaries(st.sampled_from(names), values), min_size=1, max_size=5))
    original = run([launch(block, [measurement(samples=each)]) for block, each in enumerate(drawn)])
    manifest = replace(original.manifest, side=data.draw(TEXTS), subject=data.draw(TEXTS))
    original = replace(original, manifest=manifest)
    head = measured(steps(seed=2), comparison="another")
    assert answer(as_run(decode_baseline(encode_baseline(blessed(original)))), head) == answer(original, head)


def test_values_of_a_metric_stand_on_one_line_and_the_order_is_stable() -> None:
    text = encode_baseline(blessed(ORIGINALS["uneven"])).decode("ascii")
    lines = [line.strip() for line in text.splitlines()]
    assert lines[1] == '"schema": "regress.baseline/1",'
    (count,) = (line for line in lines if "collective_count" in line)
    assert count.startswith('{"metric": "collective_count", "unit": "1", "direction": "lower", "median": 14')
    assert count.endswith('"values": [14, 14, null, null, null, null, null, null, null]}')
    assert sum(line.startswith('{"block": ') for line in lines) == len(ORIGINALS["uneven"].launches)
    assert encode_baseline(decode_baseline(text.encode())).decode() == text
    assert encode_baseline(blessed(ORIGINALS["uneven"])).decode() == text


def test_what_cannot_be_written_down_is_refused() -> None:
    with pytest.raises(RecordError, match=r"^ddp\[world=2\] failed, and failures cannot be blessed$"):
        blessed(measured(steps(), fails={2: failure()}))
    two = run([launch(block, [measurement(samples=steps()[0], definition=str(block))]) for block in range(3)])
    with pytest.raises(RecordError, match=r"^ddp\[world=2\] was not one and the same in all launches$"):
        blessed(two)


def test_what_contradicts_itself_is_refused() -> None:
    whole = blessed(ORIGINALS["plain"])
    (bench,) = whole.benchmarks
    for wrong in (
        replace(whole, launches=whole.launches[:2]),
        replace(whole, benchmarks=(replace(bench, side_modules=()),)),
        replace(whole, benchmarks=(replace(bench, launches=(-1, *bench.launches[1:])),)),
        replace(whole, platforms=()),
    ):
        with pytest.raises(RecordError, match="does not fit"):
            decode_baseline(encode_baseline(wrong))
        with pytest.raises(RecordError, match="does not fit"):
            as_run(wrong)


def test_a_changed_number_and_another_schema_are_noticed() -> None:
    text = encode_baseline(blessed(ORIGINALS["plain"]))
    assert json.loads(text)["body"]["benchmarks"]
    with pytest.raises(RecordError, match="damaged"):
        decode_baseline(text.replace(b'"attempt": 0', b'"attempt": 1', 1))
    with pytest.raises(RecordError, match="was expected"):
        decode_baseline(encode("regress.baseline/2", blessed(ORIGINALS["plain"])))


def test_a_baseline_names_no_machine() -> None:
    named = replace(PLATFORM, host="secret-node", device_ids=("GPU-secret",))
    original = ORIGINALS["plain"]
    launches = tuple(replace(each, platform=named) for each in original.launches)
    text = encode_baseline(bless(replace(original, launches=launches), named, blessed="now"))
    assert b"secret" not in text
    assert named.cpu.encode() in text
