"""The notebook half: magics, timing, views and errors, in IPython and Jupyter.

Purpose: show beside a cell what tracing, compiling and running it did.

Place in the pipeline: the top of jxkernel. The only package that imports IPython, traitlets,
ipywidgets and comm; ``import jxkernel`` does not import it.

Must not know: how anything below it works; it goes through ``api``, ``compile``, ``events`` and
``observe``.
"""

from jxkernel.jupyter.extension import load_ipython_extension, unload_ipython_extension
from jxkernel.jupyter.session.session import session_of

__all__ = ["load_ipython_extension", "session_of", "unload_ipython_extension"]
