"""Primitives: rules are declared once, and a missing one says so."""

import numpy as np
import pytest

import jxkernel as jx
from jxkernel.core.effects import Effect
from jxkernel.core.primitive import Primitive, Undefined
from jxkernel.errors import UndefinedRuleError
from jxkernel.lax import mul


@pytest.fixture
def primitive():
    made = Primitive("test_double")
    yield made
    del Primitive.registry["test_double"]


def _declare(primitive):
    primitive.define(
        abstract_eval=lambda x: x,
        lower=lambda context, x: context.value("stablehlo.add", context.out_type, (x, x)),
    )


def test_a_rule_is_declared_once(primitive):
    _declare(primitive)
    with pytest.raises(ValueError, match="'test_double' has a rule 'lower' already"):
        primitive.def_lower(lambda context, x: x)


def test_an_unknown_rule_is_refused(primitive):
    with pytest.raises(ValueError, match="'lowering' names no rule"):
        primitive.define(lowering=lambda context, x: x)


def test_the_names_of_the_package_are_taken():
    with pytest.raises(ValueError, match="'sin' exists already: choose another name"):
        Primitive("sin")


def test_a_primitive_made_again_replaces_the_old_one_which_programs_keep(primitive):
    _declare(primitive)
    f = jx.jit(lambda x: primitive.bind(x))
    program = jx.make_jaxpr(f)(1.0)
    again = Primitive("test_double")
    again.define(abstract_eval=lambda x: x, evaluate=lambda x: x)
    assert Primitive.registry["test_double"] is again
    assert f(3.0) == 6.0
    assert jx.core.jaxpr_as_fun(program)(4.0) == [8.0]
    assert again.bind(3.0) == 3.0


def test_a_rule_declared_again_by_a_cell_replaces_the_old_one(primitive):
    def declare(source, name="rule", decorator="def_impl"):
        scope = {"p": primitive, "__name__": "__main__"}
        exec(f"@p.{decorator}\ndef {name}(x): return {source}", scope)

    declare("x", decorator="def_abstract_eval")
    declare("x", decorator="def_abstract_eval")
    with pytest.raises(ValueError, match="give the new rule the old one's name, rule, to replace"):
        declare("x", "another", "def_abstract_eval")
    declare("x + 1.0")
    assert primitive.bind(1.0) == 2.0
    declare("x + 2.0")
    assert primitive.bind(1.0) == 3.0


def test_the_rules_of_the_package_are_its_own():
    with pytest.raises(ValueError, match=r"the rule 'jvp' of 'sin' is this package's own"):
        Primitive.registry["sin"].replace_rule("jvp", None)


@pytest.mark.parametrize("rule", ["abstract_eval", "lower", "jvp", "transpose", "batch", "dce"])
def test_a_missing_rule_says_what_to_write(primitive, rule):
    with pytest.raises(UndefinedRuleError) as caught:
        primitive.rule(rule)
    assert f"test_double_p.def{'ine(dce=' if rule == 'dce' else f'_{rule}'}" in str(caught.value)


def test_a_new_primitive_runs_eagerly_and_jitted(primitive):
    _declare(primitive)
    np.testing.assert_array_equal(primitive.bind(np.arange(3.0)), [0, 2, 4])
    np.testing.assert_array_equal(jx.jit(lambda x: primitive.bind(x))(np.arange(3.0)), [0, 2, 4])


@pytest.mark.parametrize(
    ("rule", "use"),
    [
        ("jvp", lambda f: jx.jvp(f, (1.0,), (1.0,))),
        ("batch", lambda f: jx.vmap(f)(np.ones(2, np.float32))),
    ],
)
def test_a_missing_rule_names_itself_where_it_is_needed(primitive, rule, use):
    _declare(primitive)
    with pytest.raises(UndefinedRuleError, match=f"'test_double' has no {rule} rule.*def_{rule}"):
        use(lambda x: primitive.bind(x))


def test_an_undefined_rule_gives_its_reason(primitive):
    _declare(primitive)
    primitive.define(jvp=Undefined("its values are drawn at random"))
    with pytest.raises(UndefinedRuleError, match="its values are drawn at random"):
        jx.grad(lambda x: primitive.bind(x))(1.0)


def test_complete_rules_work_under_every_transform(primitive):
    _declare(primitive)
    primitive.define(
        jvp=lambda primals, tangents: (primitive.bind(*primals), primitive.bind(*tangents)),
        transpose=lambda ct, x: [primitive.bind(ct)],
        batch=lambda axis, args, dims: (primitive.bind(*args), dims[0]),
    )
    per_example = jx.jit(jx.vmap(jx.grad(lambda x: mul(primitive.bind(x), x))))
    np.testing.assert_array_equal(per_example(np.arange(3, dtype=np.float32)), [0, 4, 8])


def test_impl_computes_at_once_whatever_is_traced(primitive):
    _declare(primitive)
    assert float(primitive.impl(2.0)) == 4.0
    found = []
    jx.make_jaxpr(lambda x: found.append(primitive.impl(3.0)) or x)(1.0)
    assert float(found[0]) == 6.0


def test_an_evaluating_context_stages_nothing():
    def f(x):
        with jx.core.eval_context():
            product = mul(np.int32(2), np.int32(3))
        return x * int(product)

    assert float(jx.jit(f)(2.0)) == 12.0


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (lambda ct: ct, "gave an array: it returns a list"),
        (lambda ct: None, "gave no list: it returns a list"),
        (lambda ct: [ct, ct], "gave 2 cotangents for 1 argument"),
        (lambda ct: (), "gave 0 cotangents for 1 argument"),
    ],
)
def test_a_transpose_rule_that_returns_no_list_of_cotangents_is_told(primitive, given, told):
    primitive.def_abstract_eval(lambda x: x)
    primitive.def_impl(lambda x: x)
    primitive.def_jvp(lambda primals, tangents: (primals[0], primitive.bind(tangents[0])))
    primitive.def_transpose(lambda ct, x: given(ct))
    with pytest.raises(TypeError, match=told):
        jx.vjp(primitive.bind, np.ones((1, 3), np.float32))[1](np.ones((1, 3), np.float32))
    primitive.replace_rule("transpose", lambda ct, x: (part for part in [ct]))
    _, pull_back = jx.vjp(primitive.bind, np.ones((1, 3), np.float32))
    assert pull_back(np.full((1, 3), 2, np.float32))[0].tolist() == [[2, 2, 2]]


class Sent(Effect):
    """An effect of a package."""


def test_one_rule_gives_types_and_effects(primitive):
    @primitive.def_effectful_abstract_eval
    def rule(x, *, twice):
        return x.update(shape=(2, *x.shape) if twice else x.shape), {Sent()}

    primitive.def_lower(lambda context, x, *, twice: x)
    jaxpr = jx.make_jaxpr(lambda x: primitive.bind(x, twice=True))(1.0)
    assert jaxpr.effects == {Sent()}
    assert jaxpr.out_avals[0].shape == (2,)
    [eqn] = jaxpr.eqns
    functions, params = eqn.primitive.get_bind_params(eqn.params)
    again = jx.make_jaxpr(lambda x: eqn.primitive.bind(*functions, x, **params))(1.0)
    assert str(again) == str(jaxpr)
    kept = jx.jit(lambda x: (primitive.bind(x, twice=False), x)[1])
    assert "test_double" in str(jx.make_jaxpr(kept)(1.0))
    assert kept(3.0) == 3
    assert rule(jx.typeof(1.0), twice=False)[1] == {Sent()}


def test_types_know_bytes_and_the_names_of_others():
    aval = jx.typeof(np.ones((2, 3), np.float32))
    assert (aval.itemsize, aval.nbytes) == (4, 24)
    assert aval.to_ct_aval() == aval.at_least_vspace() == aval
    assert jx.typeof(np.int8(3)).at_least_vspace().dtype == jx.dtypes.float0
