"""Executables without bodies of loops: they run alike, and the whole one is there to be read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import lax
from jxkernel.compile import disk_cache, disk_cache_summary
from jxkernel.compile.trimming import trimmed
from jxkernel.config import config

X = np.linspace(-1, 1, 4096, dtype=np.float32).reshape(64, 64)


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


def layers(x: Any) -> Any:
    """Loops, products, sums and several results of one fusion."""
    for _ in range(4):
        y = jnp.tanh(x @ x) * jnp.cos(x)
        x = y / (1 + jnp.sum(y * y, axis=0)) + x
    return x, jnp.exp(x) - x


def rolled(x: Any) -> Any:
    """A loop whose body has fusions, and writes into a stack of results."""

    def body(carry: Any, row: Any) -> Any:
        carry = jnp.tanh(carry @ x) * row + jnp.cos(carry) - row * row
        return carry, jnp.tanh(carry) * 2 + carry

    return lax.scan(body, x[0], jnp.sin(x) * x), layers(x)


def written(x: Any) -> Any:
    """Updates in place, between elementwise work."""
    y = jnp.sin(x) * x + jnp.cos(x)
    y = y.at[3].set(jnp.exp(y[4]) * 2)
    y = y.at[jnp.array([1, 5, 1])].add(y[:3] * y[3:6])
    return jnp.tanh(y @ x) * y - x, layers(x)


def chosen(x: Any) -> Any:
    """Branches with fusions in them, sorting and random bits."""
    y = lax.cond(x[0, 0] > 0, lambda v: jnp.sin(v) * v, lambda v: jnp.cos(v) - v * v, x)
    drawn = jx.random.normal(jx.random.key(3), x.shape) * y
    return jnp.sort(jnp.exp(y) - y, axis=0), drawn, layers(x)


PROGRAMS = [layers, rolled, written, chosen]


def compiled(function: Any, *args: Any, **options: Any) -> Any:
    """Compile anew: nothing that this process remembers is asked."""
    jitted = jx.jit(lambda *leaves: function(*leaves), **options)
    return jitted.lower(*(args or (X,))).compile()


def held(function: Any) -> str:
    """The text of what is held of a program that is run."""
    return "".join(one.to_string() for one in function._executable.xla.hlo_modules())


def bits(results: Any) -> list[bytes]:
    return [np.asarray(one).tobytes() for one in jx.tree.leaves(results)]


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_trimmed_program_gives_the_same_bits(program: Any) -> None:
    first, second = compiled(program), compiled(program)
    assert (first.from_disk, second.from_disk) == (False, True)
    assert 'custom_call_target="loop"' in held(second)
    assert len(held(second)) < len(held(first))
    assert bits(second(X)) == bits(first(X))
    assert bits(second(-X)) == bits(first(-X))


@pytest.mark.parametrize("program", PROGRAMS)
def test_what_is_told_of_a_trimmed_program_is_told_of_the_whole(program: Any) -> None:
    first, second = compiled(program), compiled(program)
    assert "custom_call_target" not in second.as_text().replace('target="Topk', "")
    assert second.as_text().count("fusion(") == first.as_text().count("fusion(")
    assert second.cost_analysis() == first.cost_analysis()
    assert str(second.memory_analysis()) == str(first.memory_analysis())
    assert "fusion(" in second.runtime_executable().hlo_modules()[0].to_string()


def test_donated_arguments_are_given_away() -> None:
    for _ in range(2):
        given = jx.device_put(X)
        function = compiled(lambda x: jnp.sin(x) * x + jnp.cos(x) @ x, donate_argnums=0)
        np.testing.assert_allclose(
            function(given), np.sin(X) * X + np.cos(X) @ X, rtol=1e-4, atol=1e-5
        )
        assert given.is_deleted()
    assert function.from_disk


@pytest.mark.parametrize("size", [8, 4096])
def test_xla_waits_for_the_same_programs(size: int) -> None:
    """A call of few operations is run at once: what is held must count as few or as many."""
    x = np.ones(size, np.float32)

    def loops(x: Any) -> Any:
        parts = [x[start:] for start in range(4)]
        for _ in range(8):
            parts = [jnp.tanh(part) * part + 0.3 for part in parts]
        return parts

    first, second = (compiled(loops, x)._executable.xla for _ in range(2))
    flops = [one.cost_analysis()["flops"] for one in (first, second)]
    assert flops[1] < flops[0]
    assert [one < 1000 for one in flops] == [size == 8] * 2


def test_bodies_that_write_in_place_are_kept() -> None:
    first, second = compiled(written), compiled(written)
    counts = [held(one).count("dynamic-update-slice(") for one in (first, second)]
    assert counts[0] == counts[1] > 0


def _without_whole(path: Path) -> None:
    path.unlink()


def _damaged_whole(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:-9] + bytes([content[-9] ^ 1]) + content[-8:])


@pytest.mark.parametrize("harm", [_without_whole, _damaged_whole])
def test_where_the_whole_is_gone_the_program_is_compiled_again_to_be_read(
    harm: Any, folder: Path
) -> None:
    first, second = compiled(layers), compiled(layers)
    (path,) = folder.iterdir()
    harm(path)
    assert second.as_text().count("fusion(") == first.as_text().count("fusion(")
    assert bits(second(X)) == bits(first(X))


def test_an_entry_that_lost_its_end_is_a_miss(folder: Path) -> None:
    compiled(layers)
    (path,) = folder.iterdir()
    path.write_bytes(path.read_bytes()[:-1])
    assert not compiled(layers).from_disk
    assert disk_cache_summary().misses == 2


def test_what_the_runtime_refuses_trimmed_is_loaded_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_cache, "trimmed", lambda payload, flops: b"no executable")
    first, second = compiled(layers), compiled(layers)
    assert second.from_disk
    assert held(second).count("fusion(") == first.as_text().count("fusion(")
    assert bits(second(X)) == bits(first(X))


def test_less_is_read_than_is_written() -> None:
    compiled(layers)
    compiled(layers)
    summary = disk_cache_summary()
    assert 0 < summary.bytes_read < summary.bytes_written == summary.bytes


def test_what_is_no_executable_is_left_alone() -> None:
    payload = compiled(layers)._executable.xla.serialize()
    assert trimmed(payload, lambda: 0.0) is not None
    assert trimmed(b"", lambda: 0.0) is None
    assert trimmed(b"\x00something else", lambda: 0.0) is None
    random = Random(1)
    for _ in range(50):
        assert trimmed(payload[: random.randrange(len(payload) - 1)], lambda: 0.0) is None


def test_operations_are_counted_only_where_there_is_something_to_leave_out() -> None:
    payload = compiled(lambda x: x @ x)._executable.xla.serialize()
    assert trimmed(payload, lambda: pytest.fail("counted")) is None
