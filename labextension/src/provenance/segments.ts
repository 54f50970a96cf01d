/**
 * A function's source with its marks, cut into what is drawn.
 */

import type { FunctionMapPayload, NameFact } from '../protocol.ts';
import type { IPlacedMark } from './marks.ts';
import { LETTERS, place, sourcesOf } from './marks.ts';
import type { IColumn } from '../shared/sorting.ts';

/** A stretch of a line: text, or a mark around stretches. */
export interface ISegment {
  readonly text: string;
  readonly mark: IPlacedMark | null;
  readonly inner: readonly ISegment[];
}

/** A line of source. */
export interface ISourceLine {
  readonly number: number;
  readonly segments: readonly ISegment[];
}

/** A function's lines, and all marks in its text. */
export interface IMarkedFunction {
  readonly title: string;
  readonly lines: readonly ISourceLine[];
  readonly marks: readonly IPlacedMark[];
}

/** Cuts a function's source at its marks. */
export function markedFunction(map: FunctionMapPayload): IMarkedFunction {
  const text = map.source.join('\n');
  const [source] = sourcesOf([map]);
  const { marks } = source ? place([source], text) : { marks: [] };
  const drawn = marks.filter(one => one.isDrawn);
  let from = 0;
  const lines = map.source.map((line, index) => {
    const to = from + line.length;
    const inside = drawn.filter(one => one.from < to && one.to > from);
    const segments = cut(text, from, to, inside);
    from = to + 1;
    return { number: map.source_line + index, segments };
  });
  const name = map.name === '<module>' ? 'cell' : map.name;
  return { title: `${name}, line ${map.first_line}`, lines, marks };
}

function cut(text: string, from: number, to: number, marks: readonly IPlacedMark[]): ISegment[] {
  const segments: ISegment[] = [];
  let at = from;
  let index = 0;
  while (index < marks.length) {
    const mark = marks[index++] as IPlacedMark;
    const start = Math.max(mark.from, at);
    const end = Math.min(mark.to, to);
    if (end <= start) {
      continue;
    }
    if (start > at) {
      segments.push({ text: text.slice(at, start), mark: null, inner: [] });
    }
    const inner: IPlacedMark[] = [];
    while (index < marks.length && (marks[index] as IPlacedMark).to <= mark.to) {
      inner.push(marks[index++] as IPlacedMark);
    }
    segments.push({
      text: text.slice(start, end),
      mark,
      inner: inner.length ? cut(text, start, end, inner) : []
    });
    at = end;
  }
  if (at < to) {
    segments.push({ text: text.slice(at, to), mark: null, inner: [] });
  }
  return segments;
}

const MOST_ARGUMENTS = 6;

/** The columns of the names of a function. */
export const NAME_COLUMNS: readonly IColumn<NameFact>[] = [
  { title: '', width: 3, text: fact => LETTERS[fact.kind] },
  { title: 'Name', width: 12, most: 14, text: fact => fact.name },
  { title: 'Type or value', width: 18, most: 24, text: fact => fact.detail },
  {
    title: 'Bytes',
    width: 10,
    isNumeric: true,
    isMinor: true,
    text: fact => (fact.bytes ? fact.bytes.toLocaleString('en') : ''),
    key: fact => fact.bytes
  },
  {
    title: 'Comes from',
    width: 0,
    text: origin
  }
];

/** The names on the way to the nearest argument, and the other arguments, as many as fit. */
function origin(fact: NameFact): string {
  if (fact.is_argument) {
    return 'argument';
  }
  const names = fact.chain.map(link => link.name);
  const others = fact.depends_on.filter(one => !names.includes(one));
  if (others.length > MOST_ARGUMENTS) {
    others.splice(MOST_ARGUMENTS, Infinity, `${others.length - MOST_ARGUMENTS} more`);
  }
  return names.join(' ← ') + (others.length ? `, and ${others.join(', ')}` : '');
}

/** The lines that a name's value came by, with their place in the chain; the first is its own. */
export function chainLines(fact: NameFact | null): Map<number, number> {
  const lines = new Map<number, number>();
  if (fact?.line) {
    lines.set(fact.line, 0);
  }
  fact?.chain.forEach((link, index) => {
    if (link.line && !lines.has(link.line)) {
      lines.set(link.line, index + 1);
    }
  });
  return lines;
}
