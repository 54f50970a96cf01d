"""Random numbers with a state that is kept for the user: ``stateful_rng``.

A façade: it re-exports.
"""

from jxkernel.random.stateful import StatefulPRNG, stateful_rng

__all__ = ["StatefulPRNG", "stateful_rng"]
