"""The notebook half in plain `ipython` over a pseudo-terminal."""

import os
import re
import sys
from collections.abc import Iterator

import pexpect
import pytest

PROMPT = re.compile(r"In \[(\d+)\]: ")
CONTROL = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[=>]|\r")


class Terminal:
    """IPython as a person at a terminal has it, without prompt_toolkit's line editing."""

    def __init__(self) -> None:
        arguments = ["-m", "IPython", "--simple-prompt", "--no-banner", "--colors=nocolor"]
        self.process = pexpect.spawn(
            sys.executable,
            [*arguments, "--HistoryManager.enabled=False", "--no-confirm-exit"],
            timeout=120,
            encoding="utf-8",
            env={**os.environ, "TERM": "dumb", "PYTHONPATH": os.getcwd()},
            dimensions=(50, 300),
            echo=False,
        )
        self.process.expect(PROMPT)

    def run(self, *lines: str) -> str:
        """Types a cell and returns what is printed until the next prompt."""
        for line in lines:
            self.process.sendline(line)
        if lines[0].startswith("%%"):
            for _ in range(2):  # the end of a cell, without a line editor
                self.process.sendline("")
        self.process.expect(PROMPT)
        return CONTROL.sub("", self.process.before or "")


@pytest.fixture(scope="module")
def terminal() -> Iterator[Terminal]:
    terminal = Terminal()
    terminal.run("%load_ext jxkernel")
    terminal.run("import jxkernel as jx, jxkernel.numpy as jnp")
    terminal.run("x = jnp.arange(8.0); w = 2.0")
    yield terminal
    terminal.process.sendline("exit")
    terminal.process.expect(pexpect.EOF)


def test_a_cell_prints_one_line_and_its_result(terminal: Terminal) -> None:
    printed = terminal.run("%%jit", "h = jnp.sin(x) * w", "h.sum()")
    assert re.search(r"jit  3 eqns · traced .* · miss: first run\n", printed)
    assert re.search(r"Out\[\d+\]: Array\(", printed)
    assert "<div" not in printed
    again = terminal.run("%%jit", "h = jnp.sin(x) * w", "h.sum()")
    assert re.search(r"jit  3 eqns · ran .* · cpu:0 · hit\n", again)


def test_an_error_shows_the_line_and_the_rewrite(terminal: Terminal) -> None:
    printed = terminal.run("%%jit", "if x.sum() > 0: y = 1")
    assert "----> 2 if x.sum() > 0: y = 1" in printed
    assert "choose between values with jnp.where" in printed
    assert "run_cell_magic" not in printed


def test_views_are_text(terminal: Terminal) -> None:
    assert "= sin x" in terminal.run("%jaxpr jnp.sin(x)")
    terminal.run("%%jit", "jnp.cos(x).sum()")
    assert "first call of cell_" in terminal.run("%jx ledger")
    assert "%jx why NAME" in terminal.run("%jx")


def test_timing_lines(terminal: Terminal) -> None:
    assert "latency" in terminal.run("%timeit -n 3 -r 2 jnp.sin(x)")
    assert "latency" not in terminal.run("%timeit -n 3 -r 2 sum(range(9))")


def expect_debugger(terminal: Terminal, command: str, answer: str) -> None:
    """Waits for the debugger, gives it a command and leaves it."""
    terminal.process.expect("ipdb> ")
    terminal.process.sendline(command)
    terminal.process.expect("ipdb> ")
    assert answer in (terminal.process.before or "")
    terminal.process.sendline("q")
    terminal.process.expect(PROMPT)


def test_the_debugger_opens_in_the_cell(terminal: Terminal) -> None:
    terminal.run("%%jit", "local = x + 1", "local.nothing")
    terminal.process.sendline("%debug")
    expect_debugger(terminal, "p local", "Traced<f32[8]>")


def test_the_debugger_opens_by_itself_when_asked_to(terminal: Terminal) -> None:
    terminal.run("%pdb on")
    for line in ("%%jit", "local = x + 1", "local.nothing", "", ""):
        terminal.process.sendline(line)
    expect_debugger(terminal, "p local", "Traced<f32[8]>")
    terminal.run("%pdb off")


def test_a_bar_is_a_line_of_text(terminal: Terminal) -> None:
    terminal.run("from jxkernel import lax")
    printed = terminal.run("jx.progress(lax.fori_loop)(0, 30, lambda i, c: c + i, 0)")
    assert "100% ▕████████████████████████▏ 30/30" in printed
    assert "Array(435" in printed


def test_control_c_returns_the_prompt(terminal: Terminal) -> None:
    terminal.run("y = 'kept'")
    terminal.run("%%jit", "h = jnp.sin(x) * w", "h.sum()")
    for line in ("%%jit", "print('tracing', flush=True)", "while True: pass", "", ""):
        terminal.process.sendline(line)
    terminal.process.expect("tracing\r\n")
    terminal.process.sendintr()
    terminal.process.expect("KeyboardInterrupt")
    terminal.process.expect(PROMPT)
    assert "'kept'" in terminal.run("y")
    assert "hit" in terminal.run("%%jit", "h = jnp.sin(x) * w", "h.sum()")
