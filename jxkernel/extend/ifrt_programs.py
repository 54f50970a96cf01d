"""Programs for devices behind another process: importable, and refused where they are made."""

from typing import Any, NoReturn

__all__ = ["ifrt_programs"]


class ifrt_programs:
    """What makes such programs; nothing here does."""

    @staticmethod
    def make_plugin_program(*_: Any) -> NoReturn:
        """Refuse: the devices here are those of this process.

        Raises:
          NotImplementedError: always.
        """
        raise NotImplementedError(
            "a plugin program runs on devices behind another process: here devices are those of "
            "this process, and jxkernel.jit compiles for them"
        )

    make_plugin_compile_options = make_plugin_program
