"""The built wheel in an environment that knows nothing of this checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent

KEPT = ("PATH", "LANG", "LC_ALL", "TMPDIR")
"""Of this process's variables; nothing else of the user reaches the installation."""

NOBODY = {
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@localhost",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@localhost",
    "GIT_CONFIG_SYSTEM": os.devnull,
}
"""Who commits, where git is configured for nobody."""


@dataclass(frozen=True, kw_only=True)
class Installation:
    """A virtual environment with the wheel in it, and an empty home."""

    wheel: Path
    """What was installed."""

    environment: Path
    """The virtual environment."""

    home: Path
    """The user's folder."""

    def python(self, *arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
        """Run the environment's interpreter."""
        return self._run(self.environment / "bin" / "python", *arguments, folder=folder)

    def regress(self, *arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
        """Run the command as a user would."""
        return self._run(self.environment / "bin" / "regress", *arguments, folder=folder)

    def git(self, *arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
        """Run git, which must succeed."""
        done = self._run("git", *arguments, folder=folder)
        assert done.returncode == 0, done.stderr
        return done

    @property
    def variables(self) -> Mapping[str, str]:
        """All that the programs see."""
        kept = {name: os.environ[name] for name in KEPT if name in os.environ}
        locks = {"REGRESS_LOCKS": str(self.home.parent / "locks")}  # waits for no other test
        return kept | NOBODY | locks | {"HOME": str(self.home)}

    def _run(self, program: str | Path, *arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [program, *arguments],
            cwd=folder,
            env=self.variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )


def build_wheel(folder: Path) -> Path:
    """Build the wheel of this checkout, without a network."""
    _pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(ROOT))
    (wheel,) = folder.glob("*.whl")
    return wheel


def install(folder: Path) -> Installation:
    """Install the wheel; what it depends on, torch too, is that of the running environment.

    The line that leads there comes after the environment's own packages, and files that make
    an editable installation visible there are not read.
    """
    environment, home = folder / "environment", folder / "home"
    home.mkdir(parents=True)
    wheel = build_wheel(folder / "wheels")
    venv.create(environment, with_pip=False)
    python = environment / "bin" / "python"
    _pip("--python", str(python), "install", "--no-deps", "--no-index", str(wheel))
    packages = environment / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    others = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (packages / "others.pth").write_text("".join(f"{path}\n" for path in sorted(others)))
    return Installation(wheel=wheel, environment=environment, home=home)


def _pip(*arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
