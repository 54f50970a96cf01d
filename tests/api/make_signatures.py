"""Write ``signatures.json``: the parameters of the functions of the reference implementation.

    build/peer/bin/python tests/api/make_signatures.py

A parameter that is given by position only has a slash in front, one by name only a star.
"""

import importlib
import inspect
import json
import pathlib
from typing import Any

MODULES = """
numpy numpy.fft numpy.linalg lax lax.linalg nn nn.initializers random scipy.cluster.vq scipy.fft
scipy.integrate scipy.interpolate scipy.linalg scipy.ndimage scipy.optimize scipy.signal
scipy.sparse.linalg scipy.spatial.transform scipy.special scipy.stats tree tree_util dtypes
custom_batching custom_derivatives flatten_util image ops debug export core ad_checkpoint ref dlpack
ffi stages sharding extend.core extend.random interpreters.ad interpreters.batching
example_libraries.stax example_libraries.optimizers experimental.checkify experimental.sparse
experimental.ode experimental.multihost_utils experimental.mesh_utils
"""
DISTRIBUTIONS = """
bernoulli beta betabinom binom cauchy chi2 dirichlet expon gamma gennorm geom gumbel_l gumbel_r
laplace logistic multinomial multivariate_normal nbinom norm pareto poisson t truncnorm uniform
vonmises wrapcauchy
"""
MARKS = {inspect.Parameter.POSITIONAL_ONLY: "/", inspect.Parameter.KEYWORD_ONLY: "*"}
VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def _parameters(value: Any) -> str:
    try:
        parameters = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return ""
    named = [p for p in parameters if p.kind not in VARIADIC and not p.name.startswith("_")]
    return " ".join(MARKS.get(p.kind, "") + p.name for p in named)


def main() -> None:
    """Write the table."""
    table: dict[str, dict[str, str]] = {}
    families = [f"scipy.stats.{name}" for name in DISTRIBUTIONS.split()]
    for name in ["", *MODULES.split(), *families]:
        module = importlib.import_module(f"jax.{name}".rstrip("."))
        functions = {n: v for n, v in vars(module).items() if callable(v) and n[0] != "_"}
        found = {n: _parameters(v) for n, v in functions.items() if not isinstance(v, type)}
        table[name] = {n: text for n, text in found.items() if text}
    path = pathlib.Path(__file__).with_name("signatures.json")
    path.write_text(json.dumps(table, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
