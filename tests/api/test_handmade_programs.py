"""Equations, variables and places made by hand, as interpreters of libraries make them."""

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel.extend import core, source_info_util
from jxkernel.interpreters import ad, partial_eval


def layer(x):
    with jx.named_scope("layer"):
        return jnp.sin(x) * np.arange(3, dtype=np.float32)


CLOSED = jx.make_jaxpr(layer)(jnp.ones(3))


def test_a_program_is_written_anew():
    newvar = core.gensym()
    jaxpr = CLOSED.jaxpr
    fresh = {var: newvar(var.aval) for eqn in jaxpr.eqns for var in eqn.outvars}

    def renamed(atom):
        return fresh.get(atom, atom) if isinstance(atom, core.Var) else atom

    eqns = [
        core.new_jaxpr_eqn(
            [renamed(atom) for atom in eqn.invars],
            [fresh[var] for var in eqn.outvars],
            jx.lax.cos_p if eqn.primitive is jx.lax.sin_p else eqn.primitive,
            eqn.params,
            core.no_effects,
            eqn.source_info,
        )
        for eqn in jaxpr.eqns
    ]
    assert isinstance(eqns[0].effects, core.Effects)
    made = core.Jaxpr(
        constvars=jaxpr.constvars,
        invars=jaxpr.invars,
        outvars=[renamed(atom) for atom in jaxpr.outvars],
        eqns=eqns,
        debug_info=jaxpr.debug_info,
    )
    assert made.name == jaxpr.debug_info.func_name == "layer"
    assert made.replace(debug_info=core.DebugInfo("jit", "other at f.py:3")).name == "other"
    closed = CLOSED.map_jaxpr(lambda _: made)
    [y] = core.jaxpr_as_fun(closed)(jnp.ones(3))
    np.testing.assert_allclose(y, np.cos(1) * np.arange(3), rtol=1e-6)
    for one, other in zip(closed.eqns, CLOSED.eqns, strict=True):
        assert str(one.source_info.name_stack) == "layer"
        assert source_info_util.summarize(one.source_info) == source_info_util.summarize(
            other.source_info
        )


def test_constants_become_arguments():
    jaxpr = CLOSED.jaxpr
    assert (jaxpr.num_consts, CLOSED.num_consts, CLOSED.debug_info) == (1, 1, jaxpr.debug_info)
    assert CLOSED.all_invars == [*jaxpr.constvars, *jaxpr.invars]
    open_jaxpr = partial_eval.convert_constvars_jaxpr(jaxpr)
    assert open_jaxpr.invars == jaxpr.all_invars
    [y] = core.jaxpr_as_fun(partial_eval.close_jaxpr(open_jaxpr))(*CLOSED.consts, jnp.ones(3))
    np.testing.assert_array_equal(y, layer(jnp.ones(3)))
    with pytest.raises(ValueError, match="1 constants"):
        partial_eval.close_jaxpr(jaxpr)


def test_what_is_traced_can_be_asked():
    def asked(x):
        seen.append(
            (
                core.unsafe_am_i_under_a_jit_DO_NOT_USE(),
                core.unsafe_am_i_under_a_vmap_DO_NOT_USE(),
                core.unsafe_get_axis_names_DO_NOT_USE(),
                core.nonempty_axis_env_DO_NOT_USE(),
            )
        )
        return x

    seen = []
    asked(1.0)
    jx.grad(asked)(1.0)
    jx.jit(asked)(1.0)
    jx.vmap(asked)(jnp.ones(2))
    jx.jit(jx.vmap(asked, axis_name="i"))(jnp.ones(2))
    nothing = (False, False, [], False)
    assert seen[:3] == [nothing, nothing, (True, False, [], False)]
    assert seen[3][1] is True
    assert seen[4] == (True, True, ["i"], True)


def test_places_and_names_are_set_for_a_block():
    told = source_info_util.summarize(CLOSED.eqns[0].source_info, 2)
    assert told.startswith("test_handmade_programs.py") or "test_handmade_programs.py" in told
    assert source_info_util.summarize(source_info_util.new_source_info()) == "unknown"
    names = []

    def f(x):
        with source_info_util.extend_name_stack("outer"):
            here = source_info_util.current()
            names.append(str(source_info_util.current_name_stack()))
            with source_info_util.reset_name_stack():
                x = jnp.sin(x)
            with source_info_util.set_name_stack(source_info_util.new_name_stack("a").extend("b")):
                x = jnp.cos(x)
            with source_info_util.user_context(CLOSED.eqns[0].source_info.traceback):
                x = jnp.tan(x)
        names.append(source_info_util.summarize(here))
        return x

    eqns = jx.make_jaxpr(f)(1.0).eqns
    assert [str(eqn.source_info.name_stack) for eqn in eqns] == ["", "a/b", "outer"]
    assert names[0] == "outer"
    assert "test_handmade_programs.py" in names[1]
    assert source_info_util.summarize(eqns[2].source_info, 2) == told


def test_what_programs_and_references_say_of_themselves():
    exported = jx.export.export(jx.jit(jnp.sin))(1.0)
    newest = jx.export.maximum_supported_calling_convention_version
    assert exported.calling_convention_version == newest
    assert exported.ordered_effects == exported.unordered_effects == ()
    array = jx.device_put(jnp.ones(2), jx.devices()[0])
    ref = jx.new_ref(array)
    assert ref.committed is True
    assert ref.format == array.format
    assert ref.unsafe_buffer_pointer() == ref[...].unsafe_buffer_pointer()


def test_what_tracers_say_of_devices_and_values():
    def asked(x):
        for name in ("committed", "device", "is_fully_addressable", "is_fully_replicated"):
            with pytest.raises(AttributeError, match=f"has no '{name}': only arrays lie on"):
                getattr(x, name)
        values.append(x.to_concrete_value())
        assert x.full_lower() is x
        return x

    values = []
    jx.jit(asked)(1.0)
    jx.jvp(asked, (2.0,), (1.0,))
    jx.grad(jx.jit(asked))(3.0)
    assert values[:2] == [None, 2.0]
    assert ad.zeros_like_aval(jx.typeof(jnp.ones(2))).tolist() == [0, 0]
    assert ad.add_jaxvals(jnp.ones(2), 1.0 * jnp.ones(2)).tolist() == [2, 2]
    assert np.float32 in core.array_types
    assert np.ndarray in core.array_types
    assert str not in core.array_types
