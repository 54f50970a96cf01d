"""Empty, as ``jax.lib`` is as of version 0.12: what it had is under ``jax.extend`` today."""

__all__: list[str] = []
