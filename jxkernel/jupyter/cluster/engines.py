"""Engines: started, reached and ended by ipyparallel, which is imported when it is first needed."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from IPython.core.error import UsageError
from IPython.core.profileapp import list_profiles_in
from IPython.core.profiledir import ProfileDir, ProfileDirError
from IPython.paths import get_ipython_dir

from jxkernel._lazy import late_module
from jxkernel.errors import ClusterError

__all__ = ["Engines"]

_LOG_ERRORS = 40
_LOOK_SECONDS = 0.1

_WARDEN = """
import sys
sys.stdin.buffer.read()
from ipyparallel import Cluster
Cluster.from_file(sys.argv[1]).stop_cluster_sync()
"""
"""A program that ends engines once the process that started them is gone, however it ended."""


class Engines:
    """Running engines, by rank.

    Args:
      count: how many to start.
      profile: ipyparallel's profile, which says how; on this machine alone where not given.
      timeout: how many seconds to wait for them.

    Raises:
      UsageError: ipyparallel is not installed, or there is no such profile.
      ClusterError: they did not start.
    """

    def __init__(self, count: int, profile: str = "", timeout: float = 120.0) -> None:
        self._parallel = _ipyparallel()
        if profile:
            _look_for(profile)
        self._timeout = timeout
        # The profile says where a controller listens that is to be reached from other machines.
        where = {"profile": profile} if profile else {"engines": "local", "controller_ip": _LOCAL}
        self._cluster = self._parallel.Cluster(n=count, log_level=_LOG_ERRORS, **where)
        self._warden: subprocess.Popen[bytes] | None = None
        try:
            self._cluster.start_controller_sync()
            self._warden = _warden(self._cluster.cluster_file)
            if profile:  # on this machine engines are told when the controller is there
                time.sleep(self._cluster.delay)
            self._cluster.start_engines_sync()
            self.client = self._cluster.connect_client_sync()
            self.client.wait_for_engines(count, timeout=timeout, interactive=False)
        except BaseException as error:
            said = _last_words(self._cluster)
            self.stop()
            if isinstance(error, Exception):
                raise ClusterError(
                    f"{count} engines did not start: {error}",
                    details=said,
                    instead=f"look at the profile in {self._cluster.profile_dir}, and at its logs",
                ) from error
            raise
        self.ids: list[int] = sorted(self.client.ids)[:count]

    def apply(self, rank: int, function: Callable[..., Any], *args: Any) -> Any:
        """Call a function in the engine of a rank; return ipyparallel's result to come."""
        return self.client[self.ids[rank]].apply_async(function, *args)

    def is_gone(self, error: BaseException) -> bool:
        """Whether an error says that the engine is gone, rather than what it raised."""
        name = getattr(error, "ename", type(error).__name__)
        return name in ("EngineError", "NoEnginesRegistered", "IndexError")

    def replace(self, ranks: Sequence[int]) -> None:
        """Start engines in the place of those of some ranks.

        Raises:
          ClusterError: they did not start.
        """
        before = set(self.client.ids)
        self._cluster.start_engines_sync(n=len(ranks))
        deadline = time.monotonic() + self._timeout
        while len(new := sorted(set(self.client.ids) - before)) < len(ranks):
            if time.monotonic() > deadline:
                raise ClusterError(f"{len(ranks)} engines did not start as replacements.")
            time.sleep(_LOOK_SECONDS)
        for rank, number in zip(ranks, new, strict=False):
            self.ids[rank] = number

    def stop(self) -> None:
        """End the engines and their controller."""
        with suppress(Exception):
            self.client.close()
        self._cluster.stop_cluster_sync()
        if self._warden is not None:
            self._warden.kill()
            self._warden.communicate()


_LOCAL = "127.0.0.1"
_COLOURS = re.compile("\x1b\\[[0-9;]*m")


def _look_for(profile: str) -> None:
    """Raise where there is no such profile: ipyparallel would make one, of this machine alone."""
    try:
        ProfileDir.find_profile_dir_by_name(get_ipython_dir(), profile)
    except ProfileDirError:
        known = ", ".join(sorted(list_profiles_in(get_ipython_dir()))) or "none"
        raise UsageError(
            f"%jx cluster: there is no profile {profile!r} in {get_ipython_dir()}, which has "
            f"{known}; ipython profile create --parallel --profile={profile} makes one"
        ) from None


def _last_words(cluster: Any) -> tuple[str, ...]:
    """Return the last line that a controller wrote which has ended, as when its ports are taken."""
    controller = cluster.controller
    if controller is None or controller.state != "after":
        return ()
    lines = _COLOURS.sub("", controller.get_output()).split("\n")
    last = next((line for line in reversed(lines) if line.strip()), "")
    return (f"The controller wrote last: {last.strip()}",) if last else ()


def _warden(file: str) -> subprocess.Popen[bytes]:
    """Start the program that watches this process, in a session of its own.

    Args:
      file: where ipyparallel keeps what it started.
    """
    return subprocess.Popen(
        [sys.executable, "-c", _WARDEN, file],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _ipyparallel() -> Any:
    try:
        return late_module("ipyparallel")
    except ImportError:
        raise UsageError(
            "%jx cluster needs ipyparallel, which starts the engines: "
            "%pip install jxkernel[cluster]"
        ) from None
