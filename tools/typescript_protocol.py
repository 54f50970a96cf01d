"""The wire as TypeScript: ``labextension/src/protocol.ts``, written from the Python vocabulary.

Each record is written twice: as an interface, and as the shape by which data that comes from a file
or a kernel is looked at before it is taken for one.

Run as a program it writes the file; ``test_typescript_protocol`` tells when that was forgotten.
"""

import dataclasses
import inspect
import json
import re
import types
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

from jxkernel import events
from jxkernel.events import vocabulary
from jxkernel.jupyter import features
from jxkernel.jupyter.front import channel, protocol
from jxkernel.jupyter.views import view

FILE = Path(__file__).resolve().parents[1] / "labextension/src/protocol.ts"
MESSAGES = (protocol.Sync, protocol.Request)
REPLIES = (
    protocol.Loaded,
    protocol.Unloaded,
    protocol.Status,
    protocol.Working,
    protocol.Batch,
    protocol.History,
    protocol.Reply,
)
KINDS = [
    one
    for one in vars(vocabulary).values()
    if isinstance(one, type) and issubclass(one, events.Event)
]
UNREAD = {one.__name__ for one in (*KINDS, *MESSAGES)} - {events.Event.__name__}
"""Records of which nobody reads one: what we send, and kinds of events, of which more may come."""

SCALARS = {
    int: "number",
    float: "number",
    str: "string",
    bool: "boolean",
    type(None): "null",
    Any: "unknown",
}

NAMES = "Readonly<Record<string, string>>"

HEAD = """\
/**
 * What the kernel sends: events, messages of the comm, and the data of views.
 *
 * Written from the Python types by `make front`; changed there, never here.
 */
"""


class Writer:
    """Writes interfaces, each once, those that it meets on the way included."""

    def __init__(self) -> None:
        self.written: dict[str, str] = {}
        self.shapes: dict[str, dict[str, Any]] = {}

    def spelled(self, annotation: Any) -> str:
        """The TypeScript of an annotation."""
        if annotation in SCALARS:
            return SCALARS[annotation]
        origin, arguments = get_origin(annotation), get_args(annotation)
        if origin is Literal:
            return " | ".join(f"'{one}'" for one in arguments)
        if origin in (Union, types.UnionType):
            return " | ".join(self.spelled(one) for one in arguments)
        if origin is tuple and arguments[-1:] != (...,):
            return f"[{', '.join(self.spelled(one) for one in arguments)}]"
        if origin in (tuple, list):
            inner = self.spelled(arguments[0])
            return f"({inner})[]" if "|" in inner else f"{inner}[]"
        if origin is dict:
            return f"Record<string, {self.spelled(arguments[1])}>"
        self.interface(annotation)
        return annotation.__name__

    def shape(self, annotation: Any) -> Any:
        """An annotation as data: a name, ``[item]``, ``{values}``, ``{tuple}`` and so on."""
        if annotation in SCALARS:
            return SCALARS[annotation]
        origin, arguments = get_origin(annotation), get_args(annotation)
        if origin is Literal:
            return {"is": list(arguments)}
        if origin in (Union, types.UnionType):
            return {"either": [self.shape(one) for one in arguments]}
        if origin is tuple and arguments[-1:] != (...,):
            return {"tuple": [self.shape(one) for one in arguments]}
        if origin in (tuple, list):
            return [self.shape(arguments[0])]
        if origin is dict:
            return {"values": self.shape(arguments[1])}
        return annotation.__name__

    def interface(self, kind: type, base: type | None = None) -> None:
        """Write the interface of a dataclass or a TypedDict."""
        if kind.__name__ in self.written:
            return
        self.written[kind.__name__] = ""
        base = base or features.EXTENDED.get(kind)
        if base is not None:
            self.interface(base)
        hints = typing.get_type_hints(kind)
        names = (
            [one.name for one in dataclasses.fields(kind)]
            if dataclasses.is_dataclass(kind)
            else hints
        )
        inherited = typing.get_type_hints(base) if base else {}
        told = [name for name in names if name not in inherited and name not in channel.UNSENT]
        inherited_shape = self.shapes[base.__name__] if base else {}
        own_shape = {name: self.shape(hints[name]) for name in told}
        self.shapes[kind.__name__] = {**inherited_shape, **own_shape}
        body = "".join(f"  {name}: {self.spelled(hints[name])};\n" for name in told)
        extends = f" extends {base.__name__}" if base else ""
        sentence = re.split(r"(?<=[.])\s|\n\n", inspect.getdoc(kind) or "")[0]
        note = f"/** {' '.join(sentence.split()).replace('``', '`')} */\n"
        self.written[kind.__name__] = (
            f"{note}export interface {kind.__name__}{extends} {{\n{body}}}\n"
        )


def event_interfaces(writer: Writer) -> Iterator[str]:
    """Yield each kind of event, and their union told apart by ``kind``."""
    writer.interface(events.Event)
    kinds = [one for one in KINDS if one is not events.Event]
    for one in kinds:
        writer.interface(one, events.Event)
    tagged = "\n".join(f"  | ({one.__name__} & Recorded<'{one.__name__}'>)" for one in kinds)
    yield (
        "/** What the recorder adds to an event: its cell, and times in s and ns. */\n"
        "export interface Recorded<K extends string> {\n  kind: K;\n  cell: string | null;\n"
        "  when: number;\n  self_ns: number;\n}\n"
    )
    yield f"/** An event as it is sent. */\nexport type WireEvent =\n{tagged};\n"


def written() -> str:
    """The whole file."""
    writer = Writer()
    unions = list(event_interfaces(writer))
    answers = {name: one.type for name, one in features.REQUESTS.items()}
    for one in (*MESSAGES, *REPLIES, *features.PAYLOADS.values(), *answers.values()):
        writer.interface(one)
    constants = [
        "/** The version of the messages that this code knows. */\n"
        f"export const VERSION = {protocol.VERSION};\n",
        "/** The version of the views' data that this code knows. */\n"
        f"export const FORMAT = {view.VERSION};\n",
        f"/** The comm's target. */\nexport const TARGET = '{protocol.TARGET}';\n",
        "/** The MIME type of a kind of view. */\n"
        f"export const mimeType = (kind: string): string => `{view.MIME.format('${kind}')}`;\n",
    ]
    kinds = "".join(f"  {kind}: {one.__name__};\n" for kind, one in features.PAYLOADS.items())
    unions.append(
        f"/** The data of each kind of view. */\nexport interface Payloads {{\n{kinds}}}\n"
    )
    replies = "".join(f"  {name}: {one.__name__};\n" for name, one in answers.items())
    unions.append(f"/** The answer to each request. */\nexport interface Answers {{\n{replies}}}\n")
    for name, members in (("FromFront", MESSAGES), ("FromKernel", REPLIES)):
        joined = " | ".join(one.__name__ for one in members)
        unions.append(f"/** What goes over the comm. */\nexport type {name} = {joined};\n")
    # Events travel as what the recorder made of them.
    interfaces = [
        one.replace("Record<string, unknown>[]", "WireEvent[]") for one in writer.written.values()
    ]
    return "\n".join([HEAD, *constants, *interfaces, *unions, shapes(writer)])


def shapes(writer: Writer) -> str:
    """The shapes of what is read: messages, what they hold, payloads; of events the common part."""
    read = {name: one for name, one in writer.shapes.items() if name not in UNREAD}
    lines = "".join(f"  {name}: {json.dumps(one)},\n" for name, one in sorted(read.items()))
    kinds = {kind: one.__name__ for kind, one in features.PAYLOADS.items()}
    messages = {}
    for one in REPLIES:
        [kind] = get_args(typing.get_type_hints(one)["type"])
        messages[kind] = one.__name__
    return (
        "/** How data must be to be a record: see `shared/shapes.ts`. */\n"
        f"export const SHAPES: Readonly<Record<string, unknown>> = {{\n{lines}}};\n\n"
        "/** The record that each kind of view's data is. */\n"
        f"export const PAYLOAD_RECORDS: {NAMES} = {json.dumps(kinds)};\n\n"
        "/** The record that each type of message is. */\n"
        f"export const MESSAGE_RECORDS: {NAMES} = {json.dumps(messages)};\n"
    )


if __name__ == "__main__":
    FILE.write_text(written())
