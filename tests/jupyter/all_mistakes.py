"""The classic mistakes of all tables."""

from tests.jupyter.mistaken_calls import MISTAKEN_CALLS
from tests.jupyter.mistakes import MISTAKES
from tests.jupyter.mistakes_of_data import MISTAKES_OF_DATA
from tests.jupyter.mistakes_of_others import MISTAKES_OF_OTHERS

__all__ = ["ALL_MISTAKES"]

ALL_MISTAKES = (*MISTAKES, *MISTAKEN_CALLS, *MISTAKES_OF_OTHERS, *MISTAKES_OF_DATA)
