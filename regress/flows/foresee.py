"""`regress compare --plan`: what the budget can see, before it is spent."""

from __future__ import annotations

import math
from collections.abc import Sequence

from regress.errors import RequestError
from regress.flows.budget import ALONE, runs_here
from regress.flows.compare import CompareRequest, LaidOut, is_measured, lay_out, parse_sides
from regress.flows.earlier import block_s, noise_before
from regress.flows.machinery import THIS_HOST, Machinery, Site
from regress.flows.progress import Progress
from regress.flows.undertaking import Undertaking, undertake
from regress.flows.workplace import MeasuredSide, Workplace
from regress.launch.lock import HostLock
from regress.record.foresight import Foresight, Outlook, PlannedSide, Prospect
from regress.record.metric import METRICS
from regress.record.noise import Noise
from regress.spec.plan import Plan
from regress.stats.compare import Criteria, enough_to_see, fewest, sees
from regress.stats.interval import Direction, Estimate
from regress.stats.prior import SD_FLOOR, Prior
from regress.stats.sequential import shares
from regress.verdict.criteria import criteria_for, unbiased
from regress.verdict.noise import prior_from


def foresee(
    workplace: Workplace,
    request: CompareRequest,
    progress: Progress,
    machinery: Machinery = THIS_HOST,
) -> Foresight:
    """Say what a comparison could see. Nothing is measured, and nothing is stored.

    Raises:
        RequestError: The request is wrong, or nothing would be measured.
        LaunchError: The benchmarks cannot be read.
        StoreError: The store cannot be read.
    """
    base, head = parse_sides(workplace, request)
    if not is_measured(request, base, head):
        raise RequestError(
            "--plan is for sides that are measured together; omit it, or add --measure to measure again"
        )
    site = Site(workplace=workplace, means=request.means, progress=progress, machinery=machinery)
    with HostLock(site.means.wait_s, site.progress.say):
        laid_out = lay_out(site, request, base, head)
        undertaking = undertake(laid_out.loaded, laid_out.sides, laid_out.catalogs, site.means)
    return _foreseen(site, laid_out, undertaking, noise_before(site, undertaking))


def _foreseen(site: Site, laid_out: LaidOut, undertaking: Undertaking, noise: Sequence[Noise]) -> Foresight:
    plan, platform = undertaking.plan, undertaking.catalogs[-1].platform
    criteria, notes = unbiased(criteria_for(laid_out.loaded.suite.policy, platform), noise)
    each_s = block_s(runs_here(site, plan.suite, undertaking.catalogs[-1]))
    seconds = each_s * _length(plan) if each_s else None
    budget_s = site.means.budget_s
    compared = {benchmark.label for benchmark in undertaking.launched(undertaking.sides[0], plan.benchmarks)}
    base, head = (_side(side) for side in undertaking.sides)
    tested = [block for block in plan.tested if not block.spare]
    return Foresight(
        base=base,
        head=head,
        suite=plan.suite,
        platform=platform.key,
        mode="alone" if tested[0].alone else "resident",
        false_alarms=criteria.false_alarms,
        min_change=criteria.min_change,
        must_see=criteria.must_see,
        looks=plan.looks,
        others=sum(not block.spare for block in plan.blocks) - len(tested),
        spare=sum(block.spare for block in plan.blocks),
        budget_s=budget_s,
        block_s=each_s,
        seconds=seconds if budget_s is None or seconds is None else min(seconds, budget_s),
        outlooks=_outlooks(plan, compared, noise, criteria),
        new=tuple(each.label for each in plan.benchmarks if each.label not in compared),
        notes=notes,
    )


def _side(side: MeasuredSide) -> PlannedSide:
    revision = side.revision
    return PlannedSide(
        name=side.name,
        commit=revision.commit if revision and not revision.uncommitted else None,
        subject=revision.subject if revision else "",
    )


def _length(plan: Plan) -> int:
    """All blocks but the spare ones, in tested blocks."""
    resident = not plan.tested[0].alone
    return sum(ALONE if resident and block.alone else 1 for block in plan.blocks if not block.spare)


def _outlooks(
    plan: Plan, compared: set[str], noise: Sequence[Noise], criteria: Criteria
) -> tuple[Outlook, ...]:
    """Every timed gate that is known of the benchmarks that are compared; their step time at least."""
    known = {(each.benchmark, each.metric): each for each in noise}
    labels = [each.label for each in plan.benchmarks if each.label in compared]
    family = [
        (label, metric)
        for label in labels
        for metric in METRICS
        if metric == "step_s" or (label, metric) in known
    ]
    return tuple(
        _outlook(label, metric, known.get((label, metric)), plan.looks, criteria, len(family))
        for label, metric in family
    )


def _outlook(
    label: str, metric: str, noise: Noise | None, looks: Sequence[int], criteria: Criteria, family: int
) -> Outlook:
    prior, bias = prior_from(noise), noise.bias if noise else 0.0
    least = fewest("paired", prior)
    prospects: tuple[Prospect, ...] = ()
    enough = None
    if prior is not None:
        before = _before(prior, METRICS[metric].direction, bias)
        claiming = [look for look in looks if look >= least] or [looks[-1]]
        spent = dict(zip(claiming, shares(len(claiming)), strict=True))
        level = criteria.false_alarms / family
        prospects = tuple(
            _prospect(look, look >= least, before, criteria, spent.get(look, 0.0) * level) for look in looks
        )
        enough = enough_to_see(before, criteria, spent[looks[-1]] * level)
    return Outlook(
        benchmark=label,
        metric=metric,
        sd=prior.sd if prior else None,
        df=prior.df if prior else 0.0,
        launches=prior.launches if prior else 0,
        bias=bias,
        fewest=least,
        prospects=prospects,
        enough=enough,
    )


def _prospect(look: int, claims: bool, before: Estimate, criteria: Criteria, level: float) -> Prospect:
    size = sees(before, criteria, level, look) if claims else math.inf
    return Prospect(blocks=look, claims=claims, detectable=size if math.isfinite(size) else None)


def _before(prior: Prior, direction: Direction, bias: float) -> Estimate:
    """What is known of a change before its first block: the noise."""
    sd = max(prior.sd, SD_FLOOR)
    return Estimate(
        worse=0.0,
        sd=sd,
        se=math.inf,
        df=prior.df,
        launches=(0, 0),
        design="paired",
        direction=direction,
        prior=prior,
        bias=bias,
    )
