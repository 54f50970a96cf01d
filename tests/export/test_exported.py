"""Exported programs: what they hold, that they run elsewhere, and what they refuse."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import export
from jxkernel.errors import UndefinedRuleError
from jxkernel.export import format as file_format
from jxkernel.export import trees

X = np.arange(12, dtype=np.float32).reshape(3, 4) / 10


def layer(params: dict[str, Any], x: Any) -> dict[str, Any]:
    """A little network, with a captured array and two results."""
    hidden = jnp.tanh(x @ params["w"] + SHIFT)
    return {"y": hidden, "loss": jnp.sum(hidden**2)}


SHIFT = np.float32([0.5, -0.5])
PARAMS = {"w": np.ones((4, 2), np.float32)}


@pytest.fixture(scope="module")
def exported() -> export.Exported:
    return export.export(jx.jit(layer))(PARAMS, X)


@pytest.fixture(scope="module")
def read(exported: export.Exported) -> export.Exported:
    return export.deserialize(exported.serialize(vjp_order=2))


@pytest.fixture
def _registrations():
    before = trees._registrations.by_type.copy(), trees._registrations.by_name.copy()
    yield
    trees._registrations.clear()
    trees._registrations.by_type.update(before[0])
    trees._registrations.by_name.update(before[1])


def check(found: Any, params: Any = PARAMS, x: Any = X) -> None:
    want = jx.jit(layer)(params, x)
    for name in ("y", "loss"):
        np.testing.assert_allclose(found[name], want[name], rtol=1e-6)


def test_it_tells_what_it_holds(exported, read):
    for one in (exported, read):
        assert one.fun_name == "layer"
        assert [aval.short() for aval in one.in_avals] == ["f32[4,2]", "f32[3,4]"]
        assert [aval.short() for aval in one.out_avals] == ["f32[]", "f32[3,2]"]
        assert one.in_tree == jx.tree.structure(((PARAMS, X), {}))
        assert one.out_tree == jx.tree.structure({"y": 0, "loss": 0})
        assert one.platforms == ("cpu",)
        assert one.nr_devices == 1
        assert one.has_vjp()
        assert "stablehlo.tanh" in one.mlir_module()
        assert "Exported(layer, (f32[4,2], f32[3,4])" in repr(one)


@pytest.mark.parametrize(
    "call",
    [
        lambda one: one.call(PARAMS, X),
        lambda one: jx.jit(one.call)(PARAMS, X),
        lambda one: jx.jit(lambda *args: jx.jit(one.call)(*args))(PARAMS, X),
        lambda one: export.export(jx.jit(one.call))(PARAMS, X).call(PARAMS, X),
    ],
    ids=["eager", "jit", "nested", "exported again"],
)
def test_it_runs_wherever_a_function_does(exported, read, call):
    for one in (exported, read):
        check(call(one))


def test_calls_in_one_program_are_one_function(read):
    text = jx.jit(lambda p, x: [read.call(p, x), read.call(p, x)]).lower(PARAMS, X).as_text()
    assert text.count("stablehlo.tanh") == 1
    assert text.count("call @layer") == 2


def test_its_derivative_is_exported_with_it(exported, read):
    def loss(call: Any) -> Any:
        return lambda params: call(params, X)["loss"]

    want = jx.grad(loss(layer))(PARAMS)["w"]
    for one in (exported, read):
        np.testing.assert_allclose(jx.grad(loss(one.call))(PARAMS)["w"], want, rtol=1e-5)
        np.testing.assert_allclose(jx.jit(jx.grad(loss(one.call)))(PARAMS)["w"], want, rtol=1e-5)


def test_second_derivatives_are_exported_too(read):
    def slope(call: Any) -> Any:
        first = jx.grad(lambda w: call({"w": w}, X)["loss"])
        return jx.grad(lambda w: jnp.sum(jnp.sin(first(w))))

    w = PARAMS["w"]
    np.testing.assert_allclose(slope(read.call)(w), slope(layer)(w), rtol=1e-4)


def test_the_derivative_takes_cotangents_of_inexact_results():
    one = export.export(jx.jit(lambda n, x: (x * n, n + 1)))(np.int32(3), X)
    pullback = one.vjp()
    assert [aval.short() for aval in pullback.in_avals] == ["i32[]", "f32[3,4]", "f32[3,4]"]
    (ct,) = pullback.call(np.int32(3), X, np.ones_like(X))
    np.testing.assert_array_equal(ct, np.full_like(X, 3))
    np.testing.assert_array_equal(jx.grad(lambda x: one.call(np.int32(3), x)[0].sum())(X), ct)


def test_without_its_derivative_it_says_how_to_export_it(exported):
    plain = export.deserialize(exported.serialize())
    assert not plain.has_vjp()
    with pytest.raises(ValueError, match=r"serialize\(vjp_order=1\)"):
        plain.vjp()
    with pytest.raises(UndefinedRuleError, match=r"serialize\(vjp_order=1\)"):
        jx.grad(lambda p: plain.call(p, X)["loss"])(PARAMS)


def test_under_vmap_it_runs_once_per_example(read):
    many = np.stack([X, 2 * X])
    found = jx.vmap(read.call, in_axes=(None, 0))(PARAMS, many)
    for index in range(2):
        check({name: value[index] for name, value in found.items()}, x=many[index])
    last = jx.vmap(read.call, in_axes=(None, 2))(PARAMS, np.stack([X, 2 * X], axis=2))
    np.testing.assert_array_equal(last["y"], found["y"])


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((PARAMS,), r"another structure:\n  args: exported with .*2"),
        (({"v": X}, X), r"args\[0\]"),
        ((PARAMS, X[:, :3]), r"f32\[3,4\] as args\[1\] and got f32\[3,3\]"),
        ((PARAMS, X.astype(np.int32)), r"f32\[3,4\] as args\[1\] and got i32\[3,4\]"),
        (({"w": X[0]}, X), r"f32\[4,2\] as args\[0\]\['w'\] and got f32\[4\]"),
    ],
    ids=["too few", "key", "shape", "dtype", "rank"],
)
def test_other_arguments_are_refused(read, args, message):
    with pytest.raises(ValueError, match=message):
        read.call(*args)


def test_platforms_are_lowered_apart_and_kept_once_where_alike():
    one = export.export(jx.jit(jnp.cos), platforms=("cpu", "tpu"))(X)
    assert one.platforms == ("cpu", "tpu")
    assert one.artifact("cpu") == one.artifact("tpu")
    many = np.arange(100, dtype=np.float32)
    two = export.export(jx.jit(jnp.cumsum), platforms=("cpu", "gpu"))(many)
    assert two.platforms == ("cpu", "cuda", "rocm")
    assert two.artifact("cpu") != two.artifact("cuda")
    np.testing.assert_allclose(export.deserialize(two.serialize()).call(many), np.cumsum(many))


def test_another_platform_is_refused_unless_the_check_is_off():
    one = export.export(jx.jit(jnp.cos), platforms=["tpu"])(X)
    with pytest.raises(ValueError, match="exported for tpu and is used on cpu"):
        one.call(X)
    off = [export.DisabledSafetyCheck.platform()]
    one = export.export(jx.jit(jnp.cos), platforms=["tpu"], disabled_checks=off)(X)
    for copy in (one, export.deserialize(one.serialize())):
        np.testing.assert_allclose(copy.call(X), np.cos(X), rtol=1e-6)


def test_linear_algebra_runs_where_it_was_read():
    square = X[:, :3] @ X[:, :3].T + np.eye(3, dtype=np.float32)
    one = export.export(jx.jit(jx.lax.linalg.cholesky))(square)
    found = export.deserialize(one.serialize()).call(square)
    np.testing.assert_allclose(found, np.linalg.cholesky(square), rtol=1e-5)


def test_operations_that_stablehlo_lacks_are_written_out():
    one = export.export(jx.jit(lambda x: jx.lax.erf_inv(x)))(X / 2)
    assert "chlo" not in one.mlir_module()
    np.testing.assert_allclose(one.call(X / 2), jx.lax.erf_inv(X / 2), rtol=1e-6)


def test_what_is_not_jitted_is_refused():
    with pytest.raises(ValueError, match=r"needs what jit returns"):
        export.export(layer)
    with pytest.raises(ValueError, match="name one or more of cpu, cuda, rocm, tpu"):
        export.export(jx.jit(layer), platforms=["abacus"])


def _called_back(x: Any) -> Any:
    return jx.pure_callback(np.cos, jx.ShapeDtypeStruct(x.shape, x.dtype), x)


def _printed(x: Any) -> Any:
    jx.debug.print("{}", x)
    return x


@pytest.mark.parametrize("function", [_called_back, _printed])
def test_what_calls_back_into_this_process_is_refused(function):
    with pytest.raises(ValueError, match="calls back into this Python process"):
        export.export(jx.jit(function))(X)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda blob: b"junk", "not an exported program"),
        (lambda blob: b"", "not an exported program"),
        (lambda blob: blob[: len(blob) // 2], "damaged"),
        (lambda blob: blob[:-1] + bytes([blob[-1] ^ 1]), "damaged"),
        (lambda blob: blob[:60] + b"?" + blob[61:], "damaged"),
    ],
    ids=["junk", "empty", "truncated", "last byte", "header"],
)
def test_damaged_bytes_are_refused(exported, change, message):
    with pytest.raises(ValueError, match=message):
        export.deserialize(change(bytes(exported.serialize())))


def test_a_later_format_is_refused_with_the_versions(exported, monkeypatch):
    with monkeypatch.context() as later:
        later.setattr(file_format, "maximum_supported_calling_convention_version", 99)
        blob = exported.serialize()
    with pytest.raises(ValueError, match=r"has format 99, written by jxkernel .* on jaxlib"):
        export.deserialize(blob)


class Point(NamedTuple):
    x: Any
    y: Any


@jx.tree_util.register_pytree_node_class
class Box:
    def __init__(self, value: Any, label: str) -> None:
        self.value, self.label = value, label

    def tree_flatten(self) -> tuple[tuple[Any], str]:
        return (self.value,), self.label

    @classmethod
    def tree_unflatten(cls, label: str, children: Any) -> Box:
        return cls(children[0], label)


@pytest.mark.usefixtures("_registrations")
def test_own_classes_are_written_by_registered_names():
    def swap(point: Point, box: Box) -> Any:
        return Point(point.y, Box(point.x + box.value, box.label)), None, [1.0, (2.0,)]

    one = export.export(jx.jit(swap))(Point(1.0, 2.0), Box(3.0, "b"))
    with pytest.raises(ValueError, match="register_namedtuple_serialization"):
        one.serialize()
    export.register_namedtuple_serialization(Point, serialized_name="Point")
    with pytest.raises(ValueError, match="register_pytree_node_serialization"):
        one.serialize()
    export.register_pytree_node_serialization(
        Box,
        serialized_name="Box",
        serialize_auxdata=str.encode,
        deserialize_auxdata=bytes.decode,
    )
    blob = one.serialize()
    point, nothing, _ = export.deserialize(blob).call(Point(1.0, 2.0), Box(3.0, "b"))
    assert (float(point.x), float(point.y.value), point.y.label, nothing) == (2.0, 4.0, "b", None)
    for register in (
        lambda: export.register_namedtuple_serialization(Point, serialized_name="Other"),
        lambda: export.register_namedtuple_serialization(
            NamedTuple("Other", [("x", int)]), serialized_name="Point"
        ),
    ):
        with pytest.raises(ValueError, match="is registered as 'Point'"):
            register()
    trees._registrations.clear()
    with pytest.raises(ValueError, match="which is not registered here"):
        export.deserialize(blob)


def test_only_pytrees_and_named_tuples_are_registered():
    with pytest.raises(ValueError, match="is no pytree node"):
        export.register_pytree_node_serialization(
            set, serialized_name="set", serialize_auxdata=bytes, deserialize_auxdata=bytes
        )
    with pytest.raises(ValueError, match="is no class of named tuples"):
        export.register_namedtuple_serialization(tuple, serialized_name="tuple")


READER = """
import sys
import numpy as np
import jxkernel as jx
from jxkernel import export
one = export.deserialize(open(sys.argv[1], "rb").read())
x = np.arange(12, dtype=np.float32).reshape(3, 4) / 10
params = {"w": np.ones((4, 2), np.float32)}
print(float(one.call(params, x)["loss"]))
print(float(jx.grad(lambda p: one.call(p, x)["loss"])(params)["w"].sum()))
"""


def test_another_process_runs_it(exported, tmp_path: Path):
    path = tmp_path / "layer.bin"
    path.write_bytes(exported.serialize(vjp_order=1))
    done = subprocess.run(
        [sys.executable, "-c", READER, str(path)], capture_output=True, text=True, check=True
    )
    loss, slope = map(float, done.stdout.split())
    assert loss == pytest.approx(float(layer(PARAMS, X)["loss"]), rel=1e-5)
    want = jx.grad(lambda p: layer(p, X)["loss"])(PARAMS)["w"].sum()
    assert slope == pytest.approx(float(want), rel=1e-5)
