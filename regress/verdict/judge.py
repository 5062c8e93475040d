"""Two runs in, one answer out: every benchmark, every metric, and the suite as a whole."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from regress.record.comparison import (
    VERDICTS,
    Comparison,
    Difference,
    Failure,
    Side,
    SuiteComparison,
    Verdict,
)
from regress.record.noise import Noise
from regress.record.platform import Platform
from regress.record.run import Run
from regress.spec.policy import Policy
from regress.stats.compare import Criteria, Decision, assumption
from regress.units import duration, share
from regress.verdict.buying import hopeless
from regress.verdict.canary import canary_notes
from regress.verdict.comparability import (
    environment_difference,
    incomparable,
    joined,
    platform_difference,
)
from regress.verdict.criteria import criteria_for, unbiased
from regress.verdict.evidence import Evidence, elapsed_s, gather, noise_of
from regress.verdict.failures import broken, unmeasured
from regress.verdict.families import Member, settle
from regress.verdict.handover import idle_notes, split_notes
from regress.verdict.questions import Question, only_verdict, questions
from regress.verdict.steadiness import steadiness_notes

BUSY = 0.1
"""Share of the cores that others may use before a reader is told."""


def judge(
    base: Run,
    head: Run,
    policy: Policy,
    *,
    command: str,
    fail_on: Collection[str] = frozenset(),
    noise: Iterable[Noise] = (),
    notes: Iterable[str] = (),
) -> SuiteComparison:
    """Compare two runs.

    Args:
        base: What head is compared with.
        head: What is judged. Measured together with base it carries the same comparison in
            its manifest, and the two are paired by block.
        policy: The thresholds; what it leaves open depends on the platform.
        command: What to type to measure it again.
        fail_on: Further verdicts that fail: ``inconclusive``, ``gone``.
        noise: What earlier runs tell, for runs that were not measured together.
        notes: What a reader should know beside what the runs tell.

    Raises:
        RecordError: A run holds an unknown metric or an unreadable plan.
    """
    platform = _platform(base, head)
    evidence = gather(base, head, noise)
    criteria, raised = unbiased(criteria_for(policy, platform), noise_of(evidence))
    asked = [question for each in evidence for question in _ask(each, policy, criteria)]
    comparisons = _settled(asked, criteria)
    return SuiteComparison(
        base=_side(base),
        head=_side(head),
        suite=head.manifest.suite,
        platform=platform.key if platform else "unknown",
        platform_fields=tuple(platform.fields().items()) if platform else (),
        environment_fields=_environment(head),
        verdict=overall(comparisons),
        exit_status=exit_status(comparisons, criteria, fail_on),
        false_alarms=criteria.false_alarms,
        min_change=criteria.min_change,
        must_see=criteria.must_see,
        comparisons=comparisons,
        outcomes=tuple(_failures(evidence)),
        platform_diff=_platform_diff(evidence),
        environment_diff=environment_difference(base.launches, head.launches),
        started=min(run.manifest.started for run in (base, head)),
        seconds=_elapsed_s(base, head),
        command=command,
        notes=(*raised, *_notes(base, head, evidence), *notes),
    )


def _elapsed_s(base: Run, head: Run) -> float:
    """Time spent measuring."""
    if base.manifest.comparison == head.manifest.comparison:
        return elapsed_s((*base.launches, *head.launches))
    return elapsed_s(base.launches) + elapsed_s(head.launches)


def overall(comparisons: Iterable[Comparison]) -> Verdict:
    """The most alarming verdict of the gates; without any, nothing is known."""
    verdicts = [each.verdict for each in comparisons if each.role == "gate" and each.verdict is not None]
    return min(verdicts, key=VERDICTS.index, default="inconclusive")


def exit_status(comparisons: Iterable[Comparison], criteria: Criteria, fail_on: Collection[str]) -> int:
    """0 nothing regressed, 1 regressed or broken, 3 could not tell, 4 inconclusive when asked."""
    gates = [each for each in comparisons if each.role == "gate"]
    verdicts = {each.verdict for each in gates}
    failing = {"regressed", "broken"} | ({"gone"} & set(fail_on))
    if verdicts & failing:
        return 1
    nothing_compared = verdicts <= {"gone", "new"}
    if nothing_compared or any(_cannot_tell(each, criteria) for each in gates):
        return 3
    return 4 if "inconclusive" in verdicts & set(fail_on) else 0


def _cannot_tell(gate: Comparison, criteria: Criteria) -> bool:
    """Whether a gate could not have called a worsening of ``must_see`` `regressed`."""
    if gate.verdict == "inconclusive":
        return gate.detectable is None or gate.detectable > criteria.must_see
    return gate.verdict == "incomparable"


def _ask(evidence: Evidence, policy: Policy, criteria: Criteria) -> tuple[Question, ...]:
    """One verdict for a benchmark that cannot be compared, else a question per metric."""
    missing = unmeasured(evidence)
    if missing is not None:
        return (only_verdict(evidence, *missing),)
    difference = incomparable(evidence)
    if difference is not None:
        return (only_verdict(evidence, "incomparable", difference),)
    failed = broken(evidence)
    if failed is not None:
        return (only_verdict(evidence, *failed),)
    return questions(evidence, policy, criteria)


def _settled(asked: Sequence[Question], criteria: Criteria) -> tuple[Comparison, ...]:
    """Decide what is tested as one family, then hear what stands against each verdict."""
    looked = [each.estimates for each in asked if each.estimates]
    members = iter(settle(looked, criteria))
    return tuple(
        _heard(
            question,
            _decided(question, next(members), criteria, len(looked))
            if question.estimates
            else question.comparison,
        )
        for question in asked
    )


def _decided(question: Question, member: Member, criteria: Criteria, family: int) -> Comparison:
    decision, estimate = member.decision, question.estimates[-1]
    sight = decision.detectable
    return replace(
        question.comparison,
        verdict=decision.verdict,
        reason=_reason(question, decision, criteria, family),
        detectable=sight if sight is not None and math.isfinite(sight) else None,
        p_adjusted=member.p_adjusted,
        notes=(*question.comparison.notes, *assumption(estimate, decision)),
    )


def _reason(question: Question, decision: Decision, criteria: Criteria, family: int) -> str:
    """The reason of a decision, with what more blocks would take where they are missing."""
    if question.most is not None and decision.verdict == "inconclusive" and decision.detectable is not None:
        hopes = hopeless(question.estimates[-1], criteria, family, question.most)
        if hopes is not None:
            return hopes
    if not decision.more or question.block_s is None:
        return decision.reason
    return f"{decision.reason} (about {duration(decision.more * question.block_s)})"


def _heard(question: Question, comparison: Comparison) -> Comparison:
    """Let the first objection to the verdict overrule it; the others become notes.

    What the test could have seen does not count then: it does not see what stands against it.
    """
    against = [each for each in question.objections if comparison.verdict in each.against]
    notes = [each.reason for each in question.objections if each not in against[:1]]
    if not against:
        return replace(comparison, notes=(*comparison.notes, *notes))
    overruled = f"overruled: {comparison.verdict}, {comparison.reason}"
    return replace(
        comparison,
        verdict="inconclusive",
        reason=against[0].reason,
        detectable=None,
        notes=(*comparison.notes, overruled, *notes),
    )


def _own_code_unused(evidence: Evidence) -> bool:
    """Whether a side was laid out and some launch took nothing from it."""
    trials = (*evidence.base.measured, *evidence.head.measured)
    return any(trial.measurement.side_modules == 0 for trial in trials)


def _failures(evidence: Iterable[Evidence]) -> Iterable[Failure]:
    for each in evidence:
        for side, trials in (("base", each.base.failures), ("head", each.head.failures)):
            for trial in trials:
                yield Failure(
                    side=side,
                    benchmark=each.benchmark,
                    block=trial.block,
                    alone=trial.alone,
                    outcome=trial.measurement.outcome,
                )


def _platform(base: Run, head: Run) -> Platform | None:
    """Base's hardware, or head's where base could not tell."""
    launches = itertools.chain(base.launches, head.launches)
    return next((launch.platform for launch in launches if launch.platform is not None), None)


def _platform_diff(evidence: Iterable[Evidence]) -> tuple[Difference, ...]:
    """Of each world size apart: larger ones may use more nodes."""
    found = (platform_difference(each.base.launches, each.head.launches) for each in evidence)
    return tuple(dict.fromkeys(itertools.chain.from_iterable(found)))


def _environment(run: Run) -> tuple[tuple[str, str], ...]:
    known = (launch.environment for launch in run.launches)
    return tuple(joined(environment.fields() for environment in known if environment is not None).items())


def _side(run: Run) -> Side:
    return Side(
        name=run.manifest.side,
        commit=run.manifest.commit,
        subject=run.manifest.subject,
        run=run.manifest.run,
        folder=run.folder,
    )


def _notes(base: Run, head: Run, evidence: Sequence[Evidence]) -> Iterable[str]:
    for name, run in (("base", base), ("head", head)):
        if not run.complete:
            yield f"the run of {name} was not finished"
    if any(not each.paired for each in evidence):
        yield "the sides were not measured together: a drift of the machine between them is not taken out"
    else:
        yield from canary_notes((*base.launches, *head.launches))
        yield from split_notes((*base.launches, *head.launches))
    yield from idle_notes({"base": base.launches, "head": head.launches})
    yield from steadiness_notes({"base": base.launches, "head": head.launches})
    if base.manifest.run == head.manifest.run:
        yield "base and head are the same run"
    unused = [each.benchmark for each in evidence if each.revisions_differ and _own_code_unused(each)]
    if unused:
        more = f" and {len(unused) - 1} more" if len(unused) > 1 else ""
        yield (
            f"{unused[0]}{more} imported no module from the revisions: both sides may have run the same "
            "code; benchmark files are head's on both sides, so what is compared has to lie outside of "
            "them, in a folder of python_path (configs/project.yaml)"
        )
    shares = [(launch.foreign_cpu, launch.block) for run in (base, head) for launch in run.launches]
    busiest = max(((used, block) for used, block in shares if used is not None), default=None)
    if busiest is not None and busiest[0] >= BUSY:
        used, block = busiest
        yield f"the machine was busy: others used up to {share(used)} of its cores, in block {block}"
