"""``debug_key_reuse``: a random key is consumed once, eagerly and inside every kind of program."""

import inspect

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import lax, random
from jxkernel.errors import KeyReuseError
from jxkernel.transforms import key_reuse

normal, split = random.normal, random.split


@pytest.fixture(autouse=True)
def _looking_for_reuse():
    key_reuse.clear()
    with jx.debug_key_reuse(True):
        yield


def _key():
    return random.key(0)


def _keys(count=2):
    return split(_key(), count)


def _branch(key):
    return lax.cond(True, lambda k: normal(k), lambda k: 0.0, key)


REUSED = {
    "drawn twice": lambda k=None: (lambda k: (normal(k), normal(k)))(_key()),
    "split twice": lambda: (lambda k: (split(k), split(k)))(_key()),
    "split and drawn": lambda: (lambda k: (split(k), normal(k)))(_key()),
    "raw": lambda: (lambda k: (normal(k), normal(k)))(random.PRNGKey(0)),
    "one of many": lambda: (lambda k: (normal(k[0]), normal(k[0])))(_keys()),
    "all and one": lambda: (lambda k: (jx.vmap(normal)(k), normal(k[0])))(_keys()),
    "jit": lambda: jx.jit(lambda k: normal(k) + normal(k))(_key()),
    "jit, one of many": lambda: jx.jit(lambda k: normal(k[0]) + normal(k[0]))(_keys()),
    "two calls": lambda: (lambda k, f: (f(k), f(k)))(_key(), jx.jit(normal)),
    "compiled": lambda: (lambda k, f: jx.jit(f).lower(k).compile()(k))(
        _key(), lambda k: normal(k) + normal(k)
    ),
    "nested jit": lambda: jx.jit(lambda k: jx.jit(normal)(k) + jx.jit(normal)(k))(_key()),
    "vmap": lambda: (lambda k: (jx.vmap(normal)(k), jx.vmap(normal)(k)))(_keys()),
    "cond": lambda: (lambda k: (_branch(k), normal(k)))(_key()),
    "jit of cond": lambda: jx.jit(lambda k: _branch(k) + normal(k))(_key()),
    "scan, constant": lambda: (
        lambda k: lax.scan(lambda c, _: (c, normal(k)), 0.0, None, length=3)
    )(_key()),
    "scan, carry": lambda: lax.scan(lambda c, _: (c, normal(c)), _key(), None, length=3),
    "scan, elements": lambda: (
        lambda k: (lax.scan(lambda c, x: (c, normal(x)), 0.0, k), normal(k[1]))
    )(_keys()),
    "while": lambda: lax.while_loop(
        lambda c: c[0] < 3, lambda c: (c[0] + 1, normal(c[2]), c[2]), (0, 0.0, _key())
    ),
    "grad": lambda: jx.grad(lambda x, k: x * normal(k) + normal(k))(1.0, _key()),
    "checkpoint": lambda: jx.jit(jx.checkpoint(lambda k: normal(k) + normal(k)))(_key()),
}


@pytest.mark.parametrize("case", REUSED)
def test_a_key_that_is_used_twice_is_an_error_that_names_both_lines(case):
    with pytest.raises(KeyReuseError, match="has been used already") as caught:
        REUSED[case]()
    assert f"random.{'split' if 'split' in case else 'normal'}" in caught.value.first_use
    assert f"{__file__}:" in caught.value.first_use
    assert f"{__file__}:" in caught.value.second_use


USED_ONCE = {
    "fold_in": lambda: (lambda k: (random.fold_in(k, 1), random.fold_in(k, 2), normal(k)))(_key()),
    "clone": lambda: (lambda k: (normal(k), normal(random.clone(k))))(_key()),
    "jit of clone": lambda: jx.jit(lambda k: normal(k) + normal(random.clone(k)))(_key()),
    "unpacked": lambda: (lambda a, b: (normal(a), normal(b)))(*_keys()),
    "parts": lambda: (lambda k: (normal(k[0]), normal(k[1])))(_keys()),
    "jit, parts": lambda: jx.jit(lambda k: normal(k[0]) + normal(k[1]))(_keys()),
    "vmap": lambda: jx.vmap(normal)(_keys()),
    "branches": lambda: lax.cond(True, lambda k: normal(k), lambda k: random.uniform(k), _key()),
    "scan, carry": lambda: lax.scan(lambda c, _: (split(c)[0], 1), _key(), None, length=3),
    "scan, elements": lambda: lax.scan(lambda c, k: (c, normal(k)), 0.0, _keys(3)),
    "scan, one turn": lambda: lax.scan(lambda c, _: (c, normal(c)), _key(), None, length=1),
    "data": lambda: (lambda k: (random.key_data(k), normal(k)))(_key()),
    "two equal keys": lambda: (normal(_key()), normal(_key())),
    "grad": lambda: jx.grad(lambda x, k: x * normal(k))(1.0, _key()),
    "jit called with other keys": lambda: [jx.jit(normal)(k) for k in _keys(3)],
}


@pytest.mark.parametrize("case", USED_ONCE)
def test_a_key_that_is_used_once_raises_no_alarm(case):
    USED_ONCE[case]()


ARGUMENTS = {
    "categorical": (np.ones(3),),
    "choice": (5, (2,)),
    "permutation": (5,),
    "beta": (1.0, 2.0),
    "binomial": (5.0, 0.3),
    "chisquare": (2.0,),
    "dirichlet": (np.ones(3),),
    "f": (2.0, 3.0),
    "gamma": (2.0,),
    "generalized_normal": (2.0,),
    "geometric": (0.3,),
    "loggamma": (2.0,),
    "multinomial": (5.0, np.array([0.5, 0.5])),
    "multivariate_normal": (np.ones(2), np.eye(2)),
    "orthogonal": (2,),
    "ball": (2,),
    "pareto": (2.0,),
    "poisson": (3.0,),
    "randint": ((2,), 0, 5),
    "rayleigh": (1.0,),
    "t": (2.0,),
    "triangular": (0.0, 0.5, 1.0),
    "truncated_normal": (0.0, 1.0),
    "wald": (1.0,),
    "weibull_min": (1.0, 1.0),
    "double_sided_maxwell": (0.0, 1.0),
}
OF_KEYS = {"key", "PRNGKey", "split", "fold_in", "clone", "key_data", "wrap_key_data", "key_impl"}


def test_every_distribution_uses_its_key_once():
    names = [n for n in random.__all__ if inspect.isfunction(getattr(random, n))]
    for name in sorted({*names} - OF_KEYS - {"key_dtype", "shuffle"}):
        jx.make_jaxpr(lambda k, n=name: getattr(random, n)(k, *ARGUMENTS.get(n, ())))(_key())
        key = _key()
        getattr(random, name)(key, *ARGUMENTS.get(name, ()))
        with pytest.raises(KeyReuseError):
            normal(key)


def test_off_it_marks_and_remembers_nothing():
    key = _key()
    normal(key)
    with jx.debug_key_reuse(False):
        normal(key)
        assert "key_use" not in str(jx.make_jaxpr(normal)(key))
    assert isinstance(KeyReuseError("k"), TypeError)
    assert jnp.shape(normal(_key())) == ()
