"""The disk cache: what is a hit, what is a miss, and that no folder can break a compile."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jxkernel as jx
from jxkernel import events
from jxkernel.compile import clear_disk_cache, disk_cache, disk_cache_summary
from jxkernel.config import config, user_cache_folder
from jxkernel.lax import add, mul, sin

X = np.arange(3, dtype=np.float32)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path) -> Iterator[Path]:
    chosen = tmp_path / "executables"
    before = config.values
    config.update("jax_compilation_cache_dir", str(chosen))
    disk_cache._use.clear()
    yield chosen
    disk_cache._use.clear()
    for option, value in before.items():
        config.update(option, value)


def program(x: Any) -> Any:
    return add(sin(x), x)


def compiled(function: Any = program, *args: Any, **options: Any) -> Any:
    """Compile anew: nothing that this process remembers is asked."""
    return jx.jit(lambda *leaves: function(*leaves)).lower(*(args or (X,))).compile(**options)


def counts() -> tuple[int, int, int]:
    summary = disk_cache_summary()
    return summary.hits, summary.misses, summary.entries


def only_entry(folder: Path) -> Path:
    (path,) = folder.iterdir()
    return path


def test_a_program_is_compiled_once_and_loaded_afterwards(folder):
    first = compiled()(X)
    assert counts() == (0, 1, 1)
    second = compiled()(X)
    assert counts() == (1, 1, 1)
    np.testing.assert_array_equal(first, second)
    summary = disk_cache_summary()
    assert summary.bytes == summary.bytes_read == summary.bytes_written > 0
    assert summary.folder == str(folder)


def test_a_loaded_executable_can_be_analysed():
    texts = [compiled().as_text() for _ in range(2)]
    costs = [compiled().cost_analysis()["transcendentals"] for _ in range(2)]
    sizes = [compiled().memory_analysis().argument_size_in_bytes for _ in range(2)]
    assert all("HloModule" in text for text in texts)
    assert costs == [3, 3]
    assert sizes == [12, 12]


def test_jit_and_single_operations_use_it():
    jx.jit(program)(X)
    assert counts() == (0, 1, 1)
    jx.clear_caches()
    sin(X)
    assert disk_cache_summary().misses == 2
    jx.clear_caches()
    sin(X)
    assert disk_cache_summary().hits == 1


def test_moving_a_function_to_other_lines_hits():
    source = "def program(x):\n    return add(sin(x), x)\n"
    for padding in ("", "\n" * 7):
        scope: dict[str, Any] = {"add": add, "sin": sin}
        exec(compile(padding + source, "<cell>", "exec"), scope)
        compiled(scope["program"])
    assert counts() == (1, 1, 1)


def test_with_metadata_in_the_key_moving_a_function_misses():
    source = "def program(x):\n    return add(sin(x), x)\n"
    with config.compilation_cache_include_metadata_in_key(True):
        for padding in ("", "\n" * 7):
            scope: dict[str, Any] = {"add": add, "sin": sin}
            exec(compile(padding + source, "<user code>", "exec"), scope)
            compiled(scope["program"])
    assert counts() == (0, 2, 2)


@pytest.mark.parametrize(
    ("other", "args"),
    [
        (lambda x: add(x, sin(x)), (X,)),
        (lambda x: add(sin(x), mul(x, 2.0)), (X,)),
        (program, (X[:2],)),
        (program, (X.astype(np.float16),)),
    ],
    ids=["order of operands", "operation", "shape", "dtype"],
)
def test_another_program_misses(other, args):
    compiled()
    compiled(other, *args)
    assert counts() == (0, 2, 2)


def test_compiler_options_are_part_of_the_key():
    level: dict[str, Any] = {"xla_backend_optimization_level": 0}
    for options in (None, level, level):
        compiled(compiler_options=options)
    assert counts() == (1, 2, 2)


def test_a_program_that_calls_back_into_python_is_not_kept(folder):
    def called_back(x: Any) -> Any:
        return jx.pure_callback(np.cos, jx.ShapeDtypeStruct(x.shape, x.dtype), x)

    for _ in range(2):
        np.testing.assert_allclose(compiled(called_back)(X), np.cos(X), rtol=1e-6)
    assert not folder.exists()
    assert counts() == (0, 0, 0)


@pytest.mark.parametrize("what", ["version_text", "machine_description"])
def test_another_jaxlib_or_processor_misses(what, monkeypatch):
    compiled()
    other = "99.0" if what == "version_text" else lambda devices: b"another processor"
    monkeypatch.setattr(disk_cache, what, other)
    compiled()
    assert counts() == (0, 2, 2)


def _truncated(content: bytes) -> bytes:
    return content[: len(content) // 2]


def _flipped(content: bytes) -> bytes:
    return content[:-9] + bytes([content[-9] ^ 1]) + content[-8:]


DAMAGES = {
    "truncated": _truncated,
    "one bit": _flipped,
    "empty": lambda content: b"",
    "header only": lambda content: content[:60],
    "foreign": lambda content: b"something else entirely" * 100,
    "another format": lambda content: content.replace(b"executable 2", b"executable 9", 1),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_a_damaged_entry_is_a_miss_and_is_replaced(damage, folder):
    compiled()
    path = only_entry(folder)
    whole = path.read_bytes()
    path.write_bytes(damage(whole))
    np.testing.assert_allclose(compiled()(X), np.sin(X) + X, rtol=1e-6)
    assert counts() == (0, 2, 1)
    compiled()
    assert counts() == (1, 2, 1)


def test_an_entry_under_another_name_is_a_miss(folder):
    compiled()
    one = only_entry(folder)
    compiled(lambda x: mul(x, x))
    (other,) = set(folder.iterdir()) - {one}
    one.replace(other)
    np.testing.assert_array_equal(compiled(lambda x: mul(x, x))(X), X * X)
    assert disk_cache_summary().hits == 0


def test_what_the_runtime_refuses_to_load_is_a_miss(folder):
    compiled()
    path = only_entry(folder)
    key = bytes.fromhex(path.name.partition(".")[0])

    class NotAnExecutable:
        def serialize(self) -> bytes:
            return b"no executable"

    disk_cache.store_executable(key, NotAnExecutable(), "f", 10**9, str(folder))
    np.testing.assert_allclose(compiled()(X), np.sin(X) + X, rtol=1e-6)
    assert counts() == (0, 2, 1)


def _fail(code: int) -> Any:
    def fail(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code))

    return fail


@pytest.mark.parametrize(
    ("function", "code"),
    [("makedirs", errno.EROFS), ("replace", errno.ENOSPC), ("makedirs", errno.EACCES)],
    ids=["read-only", "disk full", "forbidden"],
)
def test_a_folder_that_cannot_be_written_warns_once_and_compiles(
    function, code, folder, monkeypatch
):
    monkeypatch.setattr(disk_cache.os, function, _fail(code))
    with pytest.warns(RuntimeWarning, match="cannot write to") as caught:
        results = [compiled(one)(X) for one in (program, lambda x: mul(x, x))]
    assert len(results) == 2
    assert len(caught) == 1
    assert os.strerror(code) in disk_cache_summary().problem
    assert not folder.exists() or not list(folder.iterdir())


def test_a_warning_made_an_error_still_gives_the_executable(folder):
    folder.write_text("a file where the folder should be")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(compiled()(X), np.sin(X) + X, rtol=1e-6)


def test_the_default_folder_fails_in_silence(folder, monkeypatch):
    folder.write_text("a file where the folder should be")
    monkeypatch.setattr(config.compilation_cache_dir, "default", str(folder))
    compiled()(X)
    assert disk_cache_summary().problem


def test_the_least_recently_used_entries_are_evicted(folder):
    programs = [lambda x, n=n: mul(x, float(n)) for n in range(2, 6)]
    present: set[Path] = set()
    for age, one in enumerate(programs[:3]):
        compiled(one)
        (new,) = set(folder.iterdir()) - present
        present.add(new)
        os.utime(new, (1000 + age, 1000 + age))
    bound = int(disk_cache_summary().bytes * 3.5 / 3)
    config.update("jax_compilation_cache_max_size", bound)
    compiled(programs[0])  # used again, so the second one is now the oldest
    compiled(programs[3])
    assert counts() == (1, 4, 3)
    assert disk_cache_summary().bytes <= bound
    for one in (programs[0], programs[2], programs[3]):
        compiled(one)
    assert counts() == (4, 4, 3)
    compiled(programs[1])
    assert disk_cache_summary().misses == 5


def _put_pipe(path: Path) -> None:
    os.mkfifo(path)


def _put_folder(path: Path) -> None:
    path.mkdir()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
@pytest.mark.parametrize(("put", "stored"), [(_put_pipe, 1), (_put_folder, 0)])
def test_what_is_no_file_is_a_miss_and_does_not_hang(put, stored, folder):
    compiled()
    path = only_entry(folder)
    path.unlink()
    put(path)
    np.testing.assert_allclose(compiled()(X), np.sin(X) + X, rtol=1e-6)
    assert counts() == (0, 2, stored)
    compiled(lambda x: mul(x, x))
    assert counts() == (0, 3, stored + 1)


@pytest.mark.parametrize("name", ["a\0b", "a\ud800b"], ids=["NUL", "lone surrogate"])
def test_a_folder_that_can_have_no_such_name_warns_and_compiles(name, folder):
    config.update("jax_compilation_cache_dir", f"{folder}{name}")
    with pytest.warns(RuntimeWarning, match="cannot write to"):
        np.testing.assert_allclose(compiled()(X), np.sin(X) + X, rtol=1e-6)
    assert counts() == (0, 1, 0)


def test_a_function_whose_name_is_no_text_is_stored(folder):
    def named(x: Any) -> Any:
        return add(sin(x), x)

    named.__name__ = "a\ud800b"
    for _ in range(2):
        np.testing.assert_allclose(jx.jit(named).lower(X).compile()(X), np.sin(X) + X, rtol=1e-6)
        jx.clear_caches()
    assert counts() == (1, 1, 1)


def test_a_writer_may_have_the_number_of_one_that_died(folder, monkeypatch):
    compiled()
    left = Path(f"{only_entry(folder)}.{os.getpid()}.0")
    left.write_bytes(b"half an entry")
    clear_disk_cache()
    monkeypatch.setattr(disk_cache, "_numbers", iter(range(9)))
    compiled()
    assert counts() == (0, 1, 1)


def test_clearing_leaves_the_files_of_others_alone(folder):
    compiled()
    others = [folder / name for name in ("setup.executable", "notes.txt", "ab.executable.bak")]
    for path in others:
        path.write_text("not ours")
        os.utime(path, (1000, 1000))
    assert clear_disk_cache() == 1
    assert all(path.exists() for path in others)


def test_what_dead_writers_left_is_deleted(folder):
    compiled()
    entry = only_entry(folder)
    old, young = (Path(f"{entry}.{rest}") for rest in ("1.0", "2.0"))
    for path in (old, young):
        path.write_bytes(b"half an entry")
    os.utime(old, (1000, 1000))
    assert disk_cache_summary().entries == 1
    assert not old.exists()
    assert young.exists()


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("jax_enable_compilation_cache", False),
        ("jax_compilation_cache_dir", None),
        ("jax_compilation_cache_max_size", 0),
    ],
)
def test_it_can_be_switched_off(option, value, folder):
    config.update(option, value)
    compiled()
    assert not folder.exists()
    assert disk_cache_summary().folder is None


def test_dumping_what_xla_compiles_switches_it_off(folder, monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", "--xla_dump_to=/nowhere")
    assert disk_cache.disk_cache_folder() is None


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("jax_persistent_cache_min_compile_time_secs", 1000.0),
        ("jax_persistent_cache_min_entry_size_bytes", 1 << 30),
    ],
)
def test_what_is_not_worth_an_entry_is_not_stored(option, value):
    config.update(option, value)
    compiled()
    assert counts() == (0, 1, 0)


def test_clearing_deletes_the_entries():
    compiled()
    assert clear_disk_cache() == 1
    assert counts() == (0, 0, 0)


def test_hits_and_misses_are_events():
    seen: list[Any] = []
    kinds = (events.CacheHit, events.CacheMiss, events.Compiled)
    with events.listen(seen.append, kinds):
        compiled()
        compiled()
    seen = [event for event in seen if getattr(event, "cache", "disk") == "disk"]
    assert [type(event).__name__ for event in seen] == [
        *("CacheMiss", "Compiled"),
        *("CacheHit", "Compiled"),
    ]
    miss, made, hit, loaded = seen
    assert miss.bytes == hit.bytes > 0
    assert hit.saved_ns > 0
    assert (made.from_disk, loaded.from_disk) == (False, True)
    assert (miss.parent, hit.parent) == (made.span, loaded.span)


def test_threads_that_compile_at_once_agree():
    results: list[Any] = []

    def work() -> None:
        results.append(np.asarray(compiled()(X)))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4
    for result in results:
        np.testing.assert_allclose(result, np.sin(X) + X, rtol=1e-6)
    assert disk_cache_summary().entries == 1


SCRIPT = """
import numpy as np, jxkernel as jx
from jxkernel.compile import disk_cache_summary
from jxkernel.lax import add, sin
x = np.arange(3, dtype=np.float32)
y = np.asarray(jx.jit(lambda x: add(sin(x), x))(x))
assert np.allclose(y, np.sin(x) + x)
print(disk_cache_summary().hits, disk_cache_summary().misses)
"""


def _process(folder: Path, **more: str) -> Any:
    environment = {**os.environ, "JXKERNEL_COMPILATION_CACHE_DIR": str(folder), **more}
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT], env=environment, stdout=subprocess.PIPE, text=True
    )


def test_processes_share_the_folder(folder):
    together = [_process(folder) for _ in range(2)]
    counted = [process.communicate()[0].split() for process in together]
    assert all(process.returncode == 0 for process in together)
    assert all(sum(map(int, found)) == 1 for found in counted)
    later = _process(folder)
    assert later.communicate()[0].split() == ["1", "0"]
    flagged = _process(folder, XLA_FLAGS="--xla_backend_optimization_level=0")
    assert flagged.communicate()[0].split() == ["0", "1"]
    # XLA divides the work of a program among its threads when it compiles.
    alone = _process(folder, NPROC="7")
    assert alone.communicate()[0].split() == ["0", "1"]
    assert disk_cache_summary().entries == 3


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {"XDG_CACHE_HOME": "/cache"}, "/cache/jxkernel/executables"),
        ("linux", {"XDG_CACHE_HOME": "relative"}, "/home/me/.cache/jxkernel/executables"),
        ("linux", {}, "/home/me/.cache/jxkernel/executables"),
        ("darwin", {}, "/home/me/Library/Caches/jxkernel/executables"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/jxkernel/executables"),
    ],
)
@pytest.mark.skipif(os.name == "nt", reason="paths are written for POSIX")
def test_the_default_folder_follows_the_platform(platform, variables, expected, monkeypatch):
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/home/me")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", platform)
    assert user_cache_folder() == expected


def test_the_tests_themselves_leave_the_users_cache_alone():
    assert os.environ["JXKERNEL_COMPILATION_CACHE_DIR"] == ""


def test_long_chains_cut_and_whole_are_two_entries():
    def sums(x):
        found = []
        for _ in range(20):
            x = mul(sin(x), x)
            found.append(x.sum())
        return found

    for setting in ("cut", "whole", "cut", "whole"):
        with config.long_chains(setting):
            compiled(sums)
    assert counts() == (2, 2, 2)


def test_programs_with_their_loops_unrolled_and_left_are_two_entries():
    for setting in ("auto", "on", "auto", "off"):
        with config.loop_unrolling(setting):
            compiled(lambda x: x.sum(1), np.ones((16, 32), np.float32))
    assert counts() == (2, 2, 2)
