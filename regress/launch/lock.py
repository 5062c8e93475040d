"""Locks per host and per GPU, so that two measurements never share what they measure on.

Whoever measures on CPUs has the host for itself. Whoever measures on GPUs has its GPUs for
itself and shares the host with others that measure on other GPUs, never with one that measures
on CPUs. The locks are the kernel's (`flock`): they end with the process that holds them, however
it ends, and what an ended owner wrote into the file of a lock means nothing any more.

The locks live in one folder for all users of the host: `FOLDER`, or ``$REGRESS_LOCKS``.
"""

from __future__ import annotations

import contextlib
import fcntl
import getpass
import json
import os
import re
import shlex
import sys
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

from regress.errors import LaunchError

FOLDER = "/tmp/regress-locks"  # noqa: S108 - one for all users; files in it are opened without following links
"""Where the locks are, unless ``$REGRESS_LOCKS`` names another folder."""

POLL_S = 0.5
"""How often a lock that somebody holds is tried again."""

Told = Callable[[str], None]
"""Told, each time it changes, for whom a measurement waits."""


class HostLock:
    """What one measurement holds of this host. A context manager: leaving it lets go of everything."""

    def __init__(self, wait_s: float, told: Told) -> None:
        """Hold nothing yet.

        Args:
            wait_s: Longest time to wait for others, all locks together.
            told: Told for whom it waits.
        """
        self._wait_s = wait_s
        self._told = told
        self._held: dict[str, int] = {}
        self._limit_s = 0.0

    def __enter__(self) -> HostLock:
        """Share the host: nobody measures on its CPUs from now on.

        Raises:
            LaunchError: Another measurement did not end in time, or there can be no locks.
        """
        self._limit_s = time.monotonic() + self._wait_s
        try:
            self._take("host", fcntl.LOCK_SH)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        for name in list(self._held):
            self._let_go(name)

    def claim(self, device_ids: Sequence[str]) -> None:
        """Have these GPUs, or without any the whole host, for this measurement alone.

        Raises:
            LaunchError: Another measurement did not end in time.
        """
        self._limit_s = time.monotonic() + self._wait_s
        if not device_ids:
            self._let_go("host")  # two that share the host must not wait for each other
            self._take("host", fcntl.LOCK_EX)
        for device in sorted(set(device_ids)):
            self._take(f"gpu-{re.sub(r'[^A-Za-z0-9-]', '_', device)[:80]}", fcntl.LOCK_EX)

    def _take(self, name: str, kind: int) -> None:
        descriptor = _open(name)
        self._held[name] = descriptor
        owner = ""
        while True:
            try:
                fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
            except BlockingIOError:
                owner = self._wait(name, owner)
            else:
                _sign(descriptor)
                return

    def _wait(self, name: str, owner: str) -> str:
        """Wait a moment; returns for whom."""
        current = _owner(self._held[name])
        what = _place(name)
        if time.monotonic() >= self._limit_s:
            raise LaunchError(
                f"{current} measures on {what}, and did not end within {self._wait_s:.0f} s; "
                "try again later, or wait longer with --wait"
            )
        if current != owner:
            self._told(f"waiting for {current}, which measures on {what}")
        time.sleep(min(POLL_S, max(0.0, self._limit_s - time.monotonic())))
        return current

    def _let_go(self, name: str) -> None:
        os.close(self._held.pop(name))


def measurements() -> tuple[str, ...]:
    """Say who measures on this host now, one text for each lock: ``process 7 (regress run commit) of ...``.

    It makes no file, and waits for nobody. A measurement that begins at the same moment may take
    the look for another measurement, and then tries again.

    Returns:
        Nothing where nobody measures, or it cannot be known.
    """
    folder = Path(os.environ.get("REGRESS_LOCKS") or FOLDER)
    found = []
    for path in sorted(folder.glob("*.lock")):
        with contextlib.suppress(OSError):
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            try:  # who measures holds at least one lock that is not shared
                fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                found.append(f"{_owner(descriptor)}, measures on {_place(path.stem)}")
            finally:
                os.close(descriptor)
    return tuple(found)


def _open(name: str) -> int:
    """Open the file of a lock; nothing in the shared folder is followed or replaced."""
    folder = Path(os.environ.get("REGRESS_LOCKS") or FOLDER)
    path = folder / f"{name}.lock"
    try:
        with contextlib.suppress(FileExistsError):
            folder.mkdir(parents=True)
            folder.chmod(0o1777)
        for _ in range(2):
            with contextlib.suppress(FileNotFoundError):
                return os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
            with contextlib.suppress(FileExistsError):  # then another has just made it
                descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC)
                os.fchmod(descriptor, 0o666)
                return descriptor
    except OSError as error:
        raise LaunchError(
            f"{path}: cannot be locked: {error.strerror}; name a folder for locks with REGRESS_LOCKS"
        ) from None
    raise LaunchError(f"{path}: comes and goes; name a folder for locks with REGRESS_LOCKS")


def _place(name: str) -> str:
    """What a lock is for, in words."""
    return "this host" if name == "host" else name.replace("-", " ", 1)


def _sign(descriptor: int) -> None:
    """Write down who holds a lock; for people alone, so a full disk does not matter."""
    since = f"{datetime.now():%H:%M:%S}"
    command = shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])[:200]
    text = json.dumps({"pid": os.getpid(), "user": _user(), "command": command, "since": since})
    with contextlib.suppress(OSError):
        os.truncate(descriptor, 0)
        os.pwrite(descriptor, text.encode(), 0)


def _owner(descriptor: int) -> str:
    """Who holds a lock, as far as is known: any user of the host may have written it."""
    try:
        facts = json.loads(os.pread(descriptor, 4096, 0))
        owner = "process {pid} ({command}) of {user}, since {since}".format(**facts)
        return "".join(sign if sign.isprintable() else "?" for sign in owner[:300])
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a number without a name, as in containers
        return str(os.getuid())
