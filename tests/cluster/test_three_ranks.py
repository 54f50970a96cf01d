"""Two ranks that survive a third, and are not where each other is."""

import re

import pytest

from jxkernel.errors import ClusterError, RankError
from jxkernel.jupyter import load_ipython_extension
from tests.cluster.conftest import SETUP

DIFFERENT = """if rank == 1:
    jx.jit(lambda x: x.max())(x)
else:
    jx.jit(lambda x: x.sum())(x)
"""


@pytest.mark.slow
def test_survivors_go_on_from_one_place(plain_notebook):
    load_ipython_extension(plain_notebook.shell)
    plain_notebook.run("%jx cluster 3")
    plain_notebook.run(f"%%spmd\n{SETUP}\nimport os, signal\nstep, mine = 1, rank * 10")
    ran = plain_notebook.attempt(f"%%spmd\n{DIFFERENT}")
    assert isinstance(ran.error, RankError)
    assert "DesyncError on all ranks: The ranks are about to run different" in str(ran.error)
    assert "  ranks 0, 2: <lambda>, Cell In[" in ran.printed
    assert "  rank 1: <lambda>, Cell In[" in ran.printed
    assert "line 2: jx.jit(lambda x: x.max())(x)" in ran.printed
    assert "line 4: jx.jit(lambda x: x.sum())(x)" in ran.printed
    ran = plain_notebook.attempt(
        "%%spmd\nstep = 5 if rank == 0 else 4\n"
        "if rank == 2: os.kill(os.getpid(), signal.SIGKILL)\nfloat(jnp.sum(x))"
    )
    assert isinstance(ran.error, ClusterError)
    told = plain_notebook.run("%jx cluster").value.text
    assert "step differed between ranks: all have that of rank 0 now" in told
    lacking = next(line for line in told.splitlines() if line.startswith("rank 2 has no "))
    assert {"mine", "rank"} <= set(re.findall(r"\w+", lacking))
    ran = plain_notebook.run("%%spmd\nprint(step)\nprint(globals().get('mine'))")
    assert ran.printed == "5\n[rank 0] 0\n[rank 1] 10\n[rank 2] None\n"
