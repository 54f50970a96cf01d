"""Collectives: primitives that exchange values over named axes."""
