"""A throw-away project in a git repository, and machinery that starts no process."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from regress.flows.compare import CompareRequest, compare
from regress.flows.machinery import Machinery
from regress.flows.progress import Silence
from regress.flows.undertaking import Means, Undertaking
from regress.flows.workplace import Workplace
from regress.launch.fake import PLATFORM, FakeLauncher, Pace, Script, paced
from regress.launch.launcher import Code, Launcher
from regress.record.comparison import Comparison, SuiteComparison
from regress.record.run import Run
from regress.spec.benchmark import Catalog, Definition
from regress.store.runs import list_runs, read_run

SUITE = """\
benchmarks:
  - name: ddp
    world_size: [2]
  - name: fsdp
    world_size: [2]
steps: {warmup: 2, burst: 3, turns: 3}
blocks: {count: 6, alone: 1, looks: []}
policy: {min_change: 0.05}
"""
BLOCKS = 7
DDP, FSDP = "ddp[world=2]", "fsdp[world=2]"

EQUAL = paced({"base": Pace(), "head": Pace(), "only": Pace()})
SLOWER = paced({"base": Pace(), "head": Pace(step_s=0.012)})


def git(folder: Path, *arguments: str) -> str:
    """Run git as somebody, with nothing of this machine's configuration."""
    who = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@localhost"}
    who |= {"GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@localhost"}
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    alone = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments],
        env=kept | who | alone,
        check=True,
        capture_output=True,
        encoding="utf-8",
    )
    return done.stdout.strip()


def make_repository(root: Path) -> Path:
    """A project with a suite, a benchmark file, and two commits."""
    (root / "configs").mkdir(parents=True)
    (root / "benchmarks").mkdir()
    (root / "configs" / "commit.yaml").write_text(SUITE)
    (root / "benchmarks" / "train.py").write_text("# never imported: the catalog is a fake\n")
    (root / "model.py").write_text("WIDTH = 1\n")
    (root / ".gitignore").write_text(".regress/\n")
    git(root, "init", "--quiet", "--initial-branch", "main")
    git(root, "add", ".")
    git(root, "commit", "--quiet", "--message", "Train")
    (root / "model.py").write_text("WIDTH = 2\n")
    git(root, "commit", "--quiet", "--all", "--message", "Train \x1b[31mwider")
    return root


def definition(name: str) -> Definition:
    return Definition(name=name, world_sizes=(2,), file="train.py", line=1, digest=f"digest of {name}")


CATALOG = Catalog(
    definitions=(definition("ddp"), definition("fsdp")), ranks=4, platform=PLATFORM, torch="2.13.0+cpu"
)
ONLY_DDP = replace(CATALOG, definitions=(definition("ddp"),))


@dataclass
class Fakes:
    """Makes fake machinery and keeps its launchers."""

    script: Script
    base: Catalog = CATALOG
    head: Catalog = CATALOG
    launchers: list[FakeLauncher] = field(default_factory=list)
    undertakings: list[Undertaking] = field(default_factory=list)

    @property
    def machinery(self) -> Machinery:
        return Machinery(catalogs=self._catalogs, launcher=self._launcher)

    def _catalogs(self, codes: Sequence[Code], _cache: Path) -> Sequence[Catalog]:
        return (self.base, self.head)[-len(codes) :]

    def _launcher(self, undertaking: Undertaking, _cache: Path) -> Launcher:
        self.undertakings.append(undertaking)
        self.launchers.append(FakeLauncher(self.script))
        return self.launchers[-1]


def measured(root: Path, fakes: Fakes, base: str = "HEAD~1", head: str = "HEAD") -> SuiteComparison:
    """Compare two revisions with fakes."""
    request = CompareRequest(base=base, head=head, means=Means(seed=1))
    return compare(Workplace.around(root), request, Silence(), fakes.machinery)


def stored_runs(root: Path) -> list[Run]:
    """All runs of the project, base before head."""
    runs = [read_run(folder) for folder in list_runs(root / ".regress" / "store")]
    return sorted(runs, key=lambda run: run.manifest.role)


def step_of(answer: SuiteComparison, label: str) -> Comparison:
    """The verdict on a benchmark's step time."""
    (found,) = (each for each in answer.comparisons if (each.benchmark, each.metric) == (label, "step_s"))
    return found


def without_command(answer: SuiteComparison) -> SuiteComparison:
    return replace(answer, command="")
