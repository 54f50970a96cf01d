"""The check that a random key is used once.  It has no names of its own.

``jxkernel.debug_key_reuse`` switches it on; it raises ``jxkernel.errors.KeyReuseError``.

>>> import jxkernel as jx
>>> from jxkernel import random
>>> key = random.key(0)
>>> with jx.debug_key_reuse(True):
...     x = random.normal(key)
...     y = random.normal(key)  # doctest: +IGNORE_EXCEPTION_DETAIL
Traceback (most recent call last):
KeyReuseError: a random key was used twice
"""

__all__: list[str] = []
