"""Start-up: what a whole process costs until the first result.

Each script is run as a process of its own; the runner takes wall time, processor time and peak
memory from the operating system.
"""

from dataclasses import dataclass

__all__ = ["SCRIPTS", "Script"]


@dataclass(frozen=True)
class Script:
    """A program to run as a whole process.

    Attributes:
      name: what is measured.
      source: the program; ``{library}`` is replaced by the library's name.
      time_goal: the ratio of times to reach.
      memory_goal: the ratio of peak memory to reach.
      from_disk: whether compiled programs are kept between the processes of this script.
    """

    name: str
    source: str
    time_goal: float
    memory_goal: float | None = None
    from_disk: bool = False


SCRIPTS = (
    Script("import of the NumPy API", "import {library}.numpy", 0.40, 0.80),
    Script(
        "import of what libraries import, by the alias",
        "import {library} as J\n"
        "getattr(J, 'alias', str)('jax')\n"
        "import jax, jax.numpy, jax.lax, jax.random, jax.nn, jax.scipy.special, jax.tree_util",
        0.50,
    ),
    Script(
        "first jit result",
        "import {library} as J, {library}.numpy as jnp\n"
        "J.jit(lambda x: jnp.sin(x) * 2 + 1)(1.0).block_until_ready()",
        0.50,
        0.80,
    ),
    Script(
        "first eager result",
        "import {library}.numpy as jnp\n"
        "(jnp.sin(jnp.array([1.0, 2.0])) * 2 + 1).block_until_ready()",
        0.50,
    ),
    Script(
        "first gradient",
        "import {library} as J, {library}.numpy as jnp\n"
        "J.grad(lambda x: jnp.sin(x) * 2 + 1)(1.0).block_until_ready()",
        0.60,
    ),
    Script(
        "start with a persistent-cache hit",
        "import {library} as J, {library}.numpy as jnp\n"
        "def loss(w, x):\n"
        "    for _ in range(8):\n"
        "        x = jnp.tanh(x @ w)\n"
        "    return jnp.sum(x * x)\n"
        "J.jit(J.value_and_grad(loss))(jnp.ones((32, 32)), jnp.ones((8, 32)))[0]"
        ".block_until_ready()",
        0.50,
        from_disk=True,
    ),
)
