"""Modules that packages import, whose work is refused where it is asked for."""

import pytest

from jxkernel import experimental
from jxkernel.experimental import hijax, pallas
from jxkernel.experimental.array_serialization import serialization
from jxkernel.extend import ifrt_programs


@pytest.mark.parametrize(
    ("use", "said"),
    [
        (serialization.GlobalAsyncCheckpointManager, r"orbax\.checkpoint saves"),
        (pallas.triton.CompilerParams, r"CompilerParams of pallas\.triton is for kernels that"),
        (pallas.triton.load, r"load of pallas\.triton is for"),
        (pallas.triton.store, r"store of pallas\.triton is for"),
        (pallas.triton.atomic_add, r"atomic_add of pallas\.triton is for"),
        (ifrt_programs.ifrt_programs.make_plugin_program, "devices are those of this process"),
        (serialization.get_tensorstore_spec, "get_tensorstore_spec writes arrays"),
    ],
)
def test_what_has_nothing_behind_it_says_so_where_it_is_used(use, said):
    with pytest.raises(NotImplementedError, match=said):
        use()


def test_a_definition_that_is_not_here_is_refused_with_a_reason():
    with pytest.raises(AttributeError, match="values here are arrays and trees of them"):
        hijax.HiPspec  # noqa: B018


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("fused", "XLA fuses operations of a jitted function by itself"),
        ("jax2tf", "`jxkernel.export` gives portable StableHLO"),
        ("mosaic", "Kernels in the dialects of the compilers of TPUs and GPUs"),
        ("roofline", r"`jit\(f\).lower\(...\).cost_analysis\(\)`"),
        ("source_mapper", "show what each line became and cost"),
        ("thunky", "here XLA schedules whole programs"),
    ],
)
def test_modules_that_are_not_here_are_refused_with_a_reason(name, said):
    with pytest.raises(AttributeError, match=f"no attribute '{name}'. .*{said}"):
        getattr(experimental, name)


def test_definitions_are_taken():
    assert issubclass(serialization.GlobalAsyncCheckpointManager, object)
