"""Program transformations: staging, forward and reverse derivatives, batching, pruning.

Each is a trace (a way to process primitives) and, for programs already traced, a function from
jaxpr to jaxpr made by replaying the program under that trace.  They look rules up on primitives
and hold no tables.  They must not know of compilers, devices or arguments' structure.
"""
