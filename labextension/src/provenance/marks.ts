/**
 * Where the marks of what ran stand in a cell's text.
 */

import type { FunctionMapPayload, Loop, Mark, NameFact } from '../protocol.ts';
import { aligned } from './align.ts';
import { bytes } from '../shared/texts.ts';

/** What a mark may say. */
export type MarkKind = Mark['kind'] | 'loop';

/** The letter of each kind: a mark does not speak by colour alone. */
export const LETTERS: Record<MarkKind, string> = {
  traced: 'T',
  static: 'S',
  constant: 'C',
  effect: '!',
  loop: '↻'
};

/** The source of a file's functions with what is known of it. */
export interface IMarkedSource {
  readonly file: string;
  /** The number of the first line. */
  readonly first: number;
  readonly lines: readonly string[];
  readonly marks: readonly ISourceMark[];
}

/** A mark on lines that ran. */
export interface ISourceMark {
  readonly kind: MarkKind;
  readonly code: string;
  /** The number of its first line in the file. */
  readonly number: number;
  /** The index of its first line. */
  readonly line: number;
  readonly column: number;
  readonly endLine: number;
  readonly endColumn: number;
  readonly detail: string;
  readonly bytes: number;
  readonly isName: boolean;
  readonly fact: NameFact | null;
}

/** A mark in a text. */
export interface IPlacedMark {
  readonly mark: ISourceMark;
  readonly from: number;
  readonly to: number;
  /** Whether its line was edited since it ran. */
  readonly isStale: boolean;
  /** Whether it is drawn; others are told of where one points. */
  readonly isDrawn: boolean;
  /** What stands below it. */
  readonly label: string;
  /** The lines that it stood in when they ran. */
  readonly ran: string;
}

/** The marks of a text, and how many of the lines that ran are not in it as they were. */
export interface IPlacement {
  readonly marks: readonly IPlacedMark[];
  readonly edited: number;
  /** For each file the number of its first line, and what its lines are now. */
  readonly lines: ReadonlyMap<string, IPlacedLines>;
}

/** The lines of a file that ran: their indices in the text, or null where they are gone. */
export interface IPlacedLines {
  readonly first: number;
  readonly indices: readonly (number | null)[];
}

/** Functions by file: a function within a cell is on the cell's lines. */
export function sourcesOf(functions: readonly FunctionMapPayload[]): IMarkedSource[] {
  const files = new Map<string, FunctionMapPayload[]>();
  for (const one of functions) {
    const others = files.get(one.file);
    if (others) {
      others.push(one);
    } else {
      files.set(one.file, [one]);
    }
  }
  return [...files].map(([file, maps]) => merged(file, maps)).filter(one => one.lines.length > 0);
}

function merged(file: string, maps: readonly FunctionMapPayload[]): IMarkedSource {
  const first = Math.min(...maps.map(one => one.source_line));
  const lines: string[] = [];
  for (const one of maps) {
    one.source.forEach((text, index) => {
      lines[one.source_line - first + index] = text;
    });
  }
  // Between two functions of a file there may be lines that none has: they are like no other line.
  const known = Array.from(lines, text => text ?? '\0');
  const marks = new Map<string, ISourceMark>();
  for (const one of maps) {
    const facts = new Map(one.names.map(fact => [fact.name, fact]));
    const found = [
      ...one.marks.map(mark => sourceMark(mark, first, facts.get(mark.code) ?? null)),
      ...one.loops.map(loop => loopMark(loop, first, known))
    ];
    for (const mark of found) {
      marks.set(`${mark.line}:${mark.column}:${mark.endLine}:${mark.endColumn}:${mark.kind}`, mark);
    }
  }
  return { file, first, lines: known, marks: [...marks.values()] };
}

function sourceMark(mark: Mark, first: number, fact: NameFact | null): ISourceMark {
  return {
    kind: mark.kind,
    code: mark.code,
    number: mark.line,
    line: mark.line - first,
    column: mark.column,
    endLine: mark.end_line - first,
    endColumn: mark.end_column,
    detail: mark.detail,
    bytes: mark.bytes,
    isName: mark.is_name,
    fact
  };
}

/** A mark on the word `for` or `while` of a loop that was unrolled. */
function loopMark(loop: Loop, first: number, lines: readonly string[]): ISourceMark {
  const text = lines[loop.line - first] ?? '';
  const column = text.length - text.trimStart().length;
  const word = /^\s*(async\s+for|\w+)/.exec(text)?.[0].length ?? text.length;
  const what = `${loop.times} rounds were unrolled into ${loop.equations} equations`;
  return {
    kind: 'loop',
    code: loop.code,
    number: loop.line,
    line: loop.line - first,
    column,
    endLine: loop.line - first,
    endColumn: word,
    detail: loop.instead ? `${what}; instead: ${loop.rewrite || loop.instead}` : what,
    bytes: 0,
    isName: false,
    fact: null
  };
}

/** Finds the marks of sources in a text. */
export function place(sources: readonly IMarkedSource[], text: string): IPlacement {
  const now = text.split('\n');
  const starts: number[] = [];
  let offset = 0;
  for (const line of now) {
    starts.push(offset);
    offset += line.length + 1;
  }
  let edited = 0;
  const lines = new Map<string, IPlacedLines>();
  const found: IPlacedMark[] = [];
  for (const source of sources) {
    const matches = aligned(source.lines, now);
    edited += matches.filter((one, line) => one?.isEdited ?? source.lines[line] !== '\0').length;
    const indices = matches.map(one => (one && !one.isEdited ? one.index : null));
    lines.set(source.file, { first: source.first, indices });
    for (const mark of source.marks) {
      const placedMark = placeMark(mark, source, matches, now, starts);
      if (placedMark) {
        found.push(placedMark);
      }
    }
  }
  found.sort((one, other) => one.from - other.from || other.to - one.to);
  return { marks: labelled(found), edited, lines };
}

function placeMark(
  mark: ISourceMark,
  source: IMarkedSource,
  matches: ReturnType<typeof aligned>,
  now: readonly string[],
  starts: readonly number[]
): IPlacedMark | null {
  const first = matches[mark.line];
  const last = matches[mark.endLine];
  if (!first || !last || last.index - first.index !== mark.endLine - mark.line) {
    return null;
  }
  const from = placeColumn(mark.line, mark.column, source, first.index, now, true);
  const to = placeColumn(mark.endLine, mark.endColumn, source, last.index, now, false);
  if (from === null || to === null) {
    return null;
  }
  const start = (starts[first.index] ?? 0) + from;
  const end = (starts[last.index] ?? 0) + to;
  if (end <= start) {
    return null;
  }
  if (mark.isName && !isWord(now[first.index] ?? '', from, to, mark.code)) {
    return null;
  }
  const inner = matches.slice(mark.line, mark.endLine + 1);
  return {
    mark,
    from: start,
    to: end,
    isStale: inner.some(one => !one || one.isEdited),
    isDrawn: mark.isName || mark.kind === 'effect' || mark.kind === 'loop',
    label: LETTERS[mark.kind],
    ran: source.lines.slice(mark.line, mark.endLine + 1).join('\n')
  };
}

/**
 * What becomes of a mark when a line that it stands in is edited.
 *
 * @param one - the mark, at its place in the text as it is now.
 * @param lines - the lines that it stands in, as they are now.
 * @param start - where those begin.
 * @returns null where the edit took its name away.
 */
export function afterEdit(one: IPlacedMark, lines: string, start: number): IPlacedMark | null {
  if (one.mark.isName && !isWord(lines, one.from - start, one.to - start, one.mark.code)) {
    return null;
  }
  return { ...one, isStale: lines !== one.ran };
}

/** Whether a name stands in a line as itself, and not as a part of a longer one. */
function isWord(line: string, from: number, to: number, name: string): boolean {
  const isPart = (one: string | undefined): boolean => one !== undefined && /[\p{L}\p{N}_]/u.test(one);
  return line.slice(from, to) === name && !isPart(line[from - 1]) && !isPart(line[to]);
}

/** A column of a line that ran in the line as it is now; null where the edit took it away. */
function placeColumn(
  line: number,
  column: number,
  source: IMarkedSource,
  index: number,
  now: readonly string[],
  isStart: boolean
): number | null {
  const before = source.lines[line] ?? '';
  const after = now[index] ?? '';
  const at = unitsBefore(before, column);
  if (before === after) {
    return at;
  }
  const most = Math.min(before.length, after.length);
  let start = 0;
  while (start < most && before[start] === after[start]) {
    start += 1;
  }
  let end = 0;
  while (end < most - start && before.at(-1 - end) === after.at(-1 - end)) {
    end += 1;
  }
  if (isStart ? at < start : at <= start) {
    return at;
  }
  const fromEnd = before.length - at;
  return (isStart ? fromEnd <= end : fromEnd < end) ? after.length - fromEnd : null;
}

/** The index in a string of a column that is counted in characters, as Python does. */
export function unitsBefore(text: string, column: number): number {
  // eslint-disable-next-line no-control-regex -- surrogates are two units, all others are one
  if (!/[\ud800-\udfff]/.test(text)) {
    return column;
  }
  return [...text].slice(0, column).join('').length;
}

/** Adds the size to a constant's letter where there is room before the next mark. */
function labelled(marks: readonly IPlacedMark[]): IPlacedMark[] {
  const drawn = marks.filter(one => one.isDrawn && one.mark.isName);
  const next = new Map(drawn.map((one, index) => [one, drawn[index + 1]?.from ?? Infinity]));
  return marks.map(one => {
    if (one.mark.kind !== 'constant' || !one.mark.bytes) {
      return one;
    }
    const label = `C ${bytes(one.mark.bytes)}`;
    const room = (next.get(one) ?? Infinity) - one.from;
    return room >= label.length ? { ...one, label } : one;
  });
}

/** The marks that cover a place, innermost first. */
export function marksAt(marks: readonly IPlacedMark[], position: number): IPlacedMark[] {
  return marks
    .filter(one => one.from <= position && position <= one.to)
    .sort((one, other) => one.to - one.from - (other.to - other.from));
}
