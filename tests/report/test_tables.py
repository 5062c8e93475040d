from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from regress.record.codec import plain
from regress.record.comparison import VERDICTS, Difference
from regress.report.rows import anchor, block_changes, row_of
from regress.report.tables import tables
from tests.report.factories import (
    DDP,
    FSDP,
    SUITES,
    TENSOR,
    answer,
    benchmark,
    broken_suite,
    clean_suite,
    empty_suite,
    exact,
    mixed_suite,
    regressed_suite,
    slower,
    timed,
    unmeasured_suite,
    values,
    whole,
)


def in_words(value: Any) -> Any:
    """Leave out the numbers that the words were made of."""
    if isinstance(value, dict):
        return {
            name: in_words(item) for name, item in value.items() if name not in ("comparison", "launches")
        }
    return [in_words(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("suite", ["clean", "regressed", "broken", "hostile", "unmeasured", "empty"])
def test_tables_read_as_agreed(suite: str, golden: Callable[[str, str], None]) -> None:
    words = in_words(plain(tables(SUITES[suite]())))
    golden(f"{suite}.tables.json", json.dumps(words, indent=1, ensure_ascii=False) + "\n")


def test_the_headline_gives_verdict_number_and_worst_change() -> None:
    assert tables(regressed_suite()).headline == (
        "regressed: 2 of 3 benchmarks are worse; "
        "worst ddp[model=small,world=4] step time +20.3 % (+19.0 to +21.7 %)"
    )


def test_a_clean_headline_says_what_could_have_been_seen() -> None:
    assert tables(clean_suite()).headline == (
        "unchanged: nothing regressed; worsenings of 6.1 % or more would have been found 9 times in 10"
    )


def test_a_broken_headline_says_how_it_failed() -> None:
    assert tables(broken_suite()).headline == (
        "broken: 1 of 3 benchmarks is broken by head; fsdp[reshard=true,world=4]: rank 3 died of SIGKILL"
    )


def test_the_headline_hides_no_other_alarm() -> None:
    assert tables(mixed_suite()).headline.endswith("; also 1 incomparable, 1 gone")


def test_the_headline_of_nothing_does_not_claim_that_nothing_regressed() -> None:
    assert tables(empty_suite()).headline == "inconclusive: nothing was measured that could be judged"
    assert "both sides fail" in tables(unmeasured_suite()).headline


def test_only_slower_step_times_are_called_slower() -> None:
    assert "1 of 1 benchmark is slower" in tables(one("regressed", 0.2)).headline
    memory = answer(verdict="regressed", comparisons=(exact(DDP, "peak_allocated_bytes", 10, 12),))
    assert "1 of 1 benchmark is hungrier; worst" in tables(memory).headline


def test_an_improvement_is_headed_by_the_good_news_and_its_size() -> None:
    assert tables(one("improved", -0.14)).headline.startswith(
        f"improved: nothing regressed; 1 of 1 benchmark is faster; most {DDP} step time −14.0 %"  # noqa: RUF001
    )


def test_gates_that_do_not_know_what_they_see_are_counted() -> None:
    known, unknown = timed(DDP, "step_s", 0.04, 0.0), timed(FSDP, "step_s", 0.04, 0.0, detectable=None)
    assert tables(answer(comparisons=(known, unknown))).headline.endswith(
        "found 9 times in 10, but not where that is unknown (1 of 2)"
    )
    assert tables(answer(comparisons=(unknown,))).headline.endswith("what could have been found is not known")


def test_rows_stand_by_alarm_and_then_by_what_is_sure() -> None:
    rows = tables(mixed_suite()).rows
    ranks = [VERDICTS.index(row.comparison.verdict) for row in rows if row.comparison.verdict]
    assert ranks == sorted(ranks)
    assert len(ranks) == len(rows) == 8
    regressed = (
        *slower(DDP, 0.04, 0.2, low=0.01),
        *slower(FSDP, 0.04, 0.1, low=0.08),
        exact(TENSOR, "collective_count", 0, 5),
    )
    order = [row.benchmark for row in tables(answer(verdict="regressed", comparisons=regressed)).rows]
    assert order == [TENSOR, FSDP, DDP]


def test_what_failed_stands_first_among_equals() -> None:
    undecided = {"verdict": "inconclusive", "reason": "needs 4 more blocks"}
    failed = broken_suite().outcomes[0]
    both = answer(
        verdict="inconclusive",
        comparisons=(*benchmark(TENSOR, 0.04, 0.04, **undecided), *benchmark(DDP, 0.04, 0.0, **undecided)),
        outcomes=(failed,),
    )
    assert failed.benchmark == DDP
    assert [row.benchmark for row in tables(both).rows] == [DDP, TENSOR]


def test_every_gate_is_in_one_table_and_every_other_metric_once_beside_one() -> None:
    suite = mixed_suite()
    table = tables(suite)
    shown = [row.comparison for row in (*table.rows, *table.unchanged)]
    shown += [other.comparison for row in (*table.rows, *table.unchanged) for other in row.others]
    assert sorted(map(repr, shown)) == sorted(map(repr, suite.comparisons))
    anchors = {row.anchor for row in (*table.rows, *table.unchanged) if row.others}
    assert {row.others_at for row in (*table.rows, *table.unchanged)} <= {"", *anchors}


def test_metrics_of_a_benchmark_without_gates_are_not_lost() -> None:
    lonely = timed(DDP, "cpu_s", 0.04, 0.0)
    assert [row.comparison for row in tables(answer(comparisons=(lonely,))).only_shown] == [lonely]


def test_failures_that_are_alike_keep_every_block() -> None:
    first, second = tables(broken_suite()).failures
    assert (first.ended, first.blocks) == ("rank 3 died of SIGKILL", "blocks 0 (alone), 1")
    assert (second.benchmark, second.blocks) == (DDP, "block 2")
    assert second.logs == (f"{broken_suite().head.folder}/logs/block2/rank0.log",)


def test_software_is_suspected_before_hardware_and_named_in_one_line() -> None:
    many = tuple(Difference(field=f"field{i}", base="1", head="") for i in range(5))
    hardware = (Difference(field="cores", base="4", head="8"),)
    table = tables(answer(environment_diff=many, platform_diff=hardware))
    assert table.suspects == (
        "The software differs too: field0 1 → absent, field1 1 → absent, field2 1 → absent "
        "and 2 more. Suspect it first."
    )
    assert [row.kind for row in table.differences] == ["software"] * 5 + ["hardware"]


def test_anchors_last_and_differ() -> None:
    assert anchor(DDP, "step_s") == "c-ddp-model-small-world-4-step-s-14df115e"
    assert anchor("a[b]", "step_s") != anchor("a(b)", "step_s")
    assert anchor("\ud800", "\n").startswith("c-")


def test_a_block_change_is_positive_when_worse() -> None:
    rate = timed(
        DDP, "tokens_per_s", 1.0, 0.0, base=values(100.0, 0.0, 50.0), head=values(90.0, 5.0, blocks=(0, 1))
    )
    assert block_changes(rate) == {0: pytest.approx(0.1)}


def test_launches_of_a_block_stand_in_one_line() -> None:
    pair = timed(DDP, "step_s", 1.0, 0.0, base=values(0.04, 0.05), head=values(0.06, blocks=(1,)))
    assert row_of(pair).launches == (("0", "40.00 ms", "—", ""), ("1", "50.00 ms", "60.00 ms", "+20.0 %"))
    alone = replace(pair, design="unpaired")
    assert row_of(alone).launches == (("0", "40.00 ms", "60.00 ms", ""), ("1", "50.00 ms", "—", ""))


def test_what_has_no_number_says_so() -> None:
    lost = row_of(whole(DDP, "broken", "head died"))
    assert (lost.base, lost.change, lost.interval, lost.detectable) == ("—", "—", "", "")
    assert row_of(exact(DDP, "collective_count", 0, 5)).change == "from 0"
    assert row_of(exact(DDP, "collective_count", 5, 5)).detectable == "any"


def one(verdict: str, change: float) -> Any:
    """An answer of one benchmark with one step time."""
    return answer(verdict=verdict, comparisons=(timed(DDP, "step_s", 0.04, change, verdict=verdict),))
