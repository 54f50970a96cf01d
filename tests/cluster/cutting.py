"""A process that is cut off from the network: on Linux, without privileges, for good."""

import os
import socket
import struct
import sys
from ctypes import addressof, create_string_buffer
from threading import Thread
from time import sleep

__all__ = ["CUT", "can_be_cut"]

_ATTACH_FILTER, _MAX_PACING_RATE = 26, 47
# The filter of one instruction that keeps no byte of a packet.
_NOTHING = create_string_buffer(struct.pack("HBBI", 0x06, 0, 0, 0))
_FILTER = struct.pack("HP", 1, addressof(_NOTHING))
_EVERY_SECONDS = 0.01

CUT = f"import runpy; runpy.run_path({__file__!r})['cut']()"
"""What a cell runs to cut its process off."""


def can_be_cut():
    """Whether this system knows how to."""
    if not sys.platform.startswith("linux"):
        return False
    with socket.socket() as probe:
        return _is_cut(probe)


def cut():
    """Drop what arrives at this process, and send a byte a second: now and on later connections."""
    _cut_all()
    Thread(target=_cut_on, daemon=True).start()


def _cut_on():
    while True:
        _cut_all()
        sleep(_EVERY_SECONDS)


def _cut_all():
    for name in os.listdir("/proc/self/fd"):
        try:
            if not os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
                continue
            with socket.socket(fileno=os.dup(int(name))) as one:
                if one.family in (socket.AF_INET, socket.AF_INET6):
                    _is_cut(one)
        except OSError:  # closed meanwhile
            continue


def _is_cut(one):
    try:
        one.setsockopt(socket.SOL_SOCKET, _ATTACH_FILTER, _FILTER)
        one.setsockopt(socket.SOL_SOCKET, _MAX_PACING_RATE, 1)
    except OSError:
        return False
    return True
