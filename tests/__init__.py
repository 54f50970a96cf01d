"""The tests: they mirror `jxkernel/`, and `meta/` asserts what must hold of the code itself."""
