"""Guards: transfers that nobody asked for are refused or logged, those asked for are not."""

import gc
import threading

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel.errors import JaxRuntimeError

HOST = np.ones(3, np.float32)
double = jx.jit(lambda x: x + x)

IMPLICIT = {
    "an array of NumPy's as argument of a compiled function": lambda: double(HOST),
    "a Python number as argument": lambda: double(2.0),
    "an operator with a number": lambda: jnp.zeros(3) + 2,
    "asarray": lambda: jnp.asarray(HOST),
    "a list": lambda: jnp.array([1.0, 2.0]),
}


@pytest.mark.parametrize("guard", [jx.transfer_guard, jx.transfer_guard_host_to_device])
@pytest.mark.parametrize("name", IMPLICIT)
def test_implicit_transfers_are_refused_inside_and_work_outside(name, guard):
    IMPLICIT[name]()
    with guard("disallow"), pytest.raises(JaxRuntimeError, match="Disallowed host-to-device"):
        IMPLICIT[name]()
    IMPLICIT[name]()


def test_explicit_transfers_are_refused_only_when_told_so():
    with jx.transfer_guard("disallow"):
        x = jx.device_put(HOST)
        assert jx.device_get(double(x)).tolist() == [2.0, 2.0, 2.0]
        assert jnp.arange(3).shape == (3,)
    with (
        jx.transfer_guard("disallow_explicit"),
        pytest.raises(JaxRuntimeError, match="Disallowed host-to-device"),
    ):
        jx.device_put(HOST)


def test_guards_nest_and_restore_what_was_there():
    with jx.transfer_guard_host_to_device("disallow"):
        with jx.transfer_guard("allow"):
            jnp.asarray(HOST)
        with pytest.raises(JaxRuntimeError):
            jnp.asarray(HOST)
        assert jx.config.jax_transfer_guard_host_to_device == "disallow"
    assert jx.config.jax_transfer_guard_host_to_device is None


def test_a_guard_is_of_one_thread_and_an_option_of_the_process():
    failures = []

    def transfer():
        try:
            jnp.asarray(HOST)
        except JaxRuntimeError as error:
            failures.append(error)

    def in_thread():
        thread = threading.Thread(target=transfer)
        thread.start()
        thread.join()

    with jx.transfer_guard("disallow"):
        in_thread()
    assert failures == []
    jx.config.update("jax_transfer_guard", "disallow")
    try:
        in_thread()
    finally:
        jx.config.update("jax_transfer_guard", "allow")
        for direction in ("host_to_device", "device_to_device", "device_to_host"):
            jx.config.update(f"jax_transfer_guard_{direction}", None)
        jx.config.update("jax_transfer_guard", None)
    assert len(failures) == 1
    jnp.asarray(HOST)


def test_wrong_levels_are_refused():
    with pytest.raises(ValueError, match=r"jax_transfer_guard takes one of .*'disallow'.*'never'"):
        jx.transfer_guard("never")
    with pytest.raises(ValueError, match="jax_array_garbage_collection_guard takes one of"):
        jx.array_garbage_collection_guard("disallow")


def test_arrays_in_cycles_are_logged_when_collected(capfd):
    with jx.array_garbage_collection_guard("log"):
        cycle = [jnp.ones(3)]
        cycle.append(cycle)
        del cycle
        gc.collect()
    assert "garbage collector" in capfd.readouterr().err


def test_nothing_runs_where_execution_is_forbidden():
    add_one = jx.jit(lambda x: x + 1)
    x = jnp.ones(3)
    add_one(x)
    compiled = add_one.lower(x).compile()
    runs = [lambda: add_one(x), lambda: jnp.sin(x), lambda: x * 2, lambda: compiled(x)]
    for run in runs:
        run()
        with jx.no_execution(True), pytest.raises(RuntimeError, match="would run, and no_exec"):
            run()
        run()
    with jx.no_execution():
        assert jx.eval_shape(add_one, x).shape == (3,)
        assert add_one.lower(x).compile() is not None


def test_nothing_is_traced_where_tracing_is_forbidden():
    f = jx.jit(lambda x: x + 1)
    known = jnp.ones(3)
    f(known)
    with jx.no_tracing(True):
        assert f(known).tolist() == [2, 2, 2]
        with pytest.raises(RuntimeError, match=r"<lambda> would be traced for f32\[2\], and no_tr"):
            f(np.ones(2, np.float32))
    f(jnp.ones(2))


def test_threads_of_one_process_may_run_programs():
    results = []
    x = jnp.ones(3)
    with jx.thread_guard(True):
        thread = threading.Thread(target=lambda: results.append(double(x).tolist()))
        thread.start()
        thread.join()
        assert jx.config.jax_thread_guard is True
    assert (results, jx.config.jax_thread_guard) == ([[2, 2, 2]], False)
