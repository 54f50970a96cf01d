/**
 * Rows that are searched and sorted, as numbers of rows: the rows themselves stay where they are.
 */

/** A column. */
export interface IColumn<T> {
  readonly title: string;
  /** What the cell shows. */
  readonly text: (row: T) => string;
  /** What it is sorted by, where that is not its text. */
  readonly key?: (row: T) => number | string;
  /** Its width in characters; 0 for what is left. */
  readonly width: number;
  /** The width that it grows to where there is room, before what is left is given away. */
  readonly most?: number;
  readonly isNumeric?: boolean;
  /** Whether it is left out where there is no room for all; what is chosen tells it. */
  readonly isMinor?: boolean;
  /** How long a bar to draw in it, from 0 to 1. */
  readonly bar?: (row: T) => number;
}

/** By which column rows are sorted, and whether the greatest comes first. */
export interface IOrder {
  readonly column: number;
  readonly isDown: boolean;
}

/** The rows that have all words somewhere, in their order. */
export function matching(texts: readonly string[], words: string): number[] {
  const sought = words.toLowerCase().split(/\s+/).filter(Boolean);
  const found: number[] = [];
  texts.forEach((text, index) => {
    if (sought.every(word => text.includes(word))) {
      found.push(index);
    }
  });
  return found;
}

/** What is searched of each row. */
export function searched<T>(rows: readonly T[], columns: readonly IColumn<T>[]): string[] {
  return rows.map(row => columns.map(one => one.text(row)).join('\n').toLowerCase());
}

/** Numbers of rows in the order of a column; equal ones stay as they were. */
export function sorted<T>(
  rows: readonly T[],
  indices: readonly number[],
  columns: readonly IColumn<T>[],
  order: IOrder | null
): readonly number[] {
  const column = order && columns[order.column];
  if (!column) {
    return indices;
  }
  const key = column.key ?? column.text;
  const keyed = indices.map(index => ({ index, key: key(rows[index] as T) }));
  const sign = order.isDown ? -1 : 1;
  keyed.sort((one, other) => sign * compared(one.key, other.key) || one.index - other.index);
  return keyed.map(one => one.index);
}

/** Rows as text, their columns divided by tabs, as spreadsheets take them. */
export function written<T>(rows: readonly T[], columns: readonly IColumn<T>[]): string {
  const lines = rows.map(row => columns.map(one => flat(one.text(row))).join('\t'));
  return [columns.map(one => one.title).join('\t'), ...lines].join('\n');
}

/** A quantity that was written with its unit, in the least unit; others as they are. */
export function quantity(text: string): number | string {
  const found = /^(-?[\d.,]+)\s*([a-zµ%]*)$/i.exec(text.trim());
  const factor = UNITS[found?.[2]?.toLowerCase() ?? 'none'];
  return found?.[1] && factor ? Number(found[1].replace(/,/g, '')) * factor : text;
}

const UNITS: Record<string, number> = {
  '': 1,
  '%': 1,
  b: 1,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  tb: 1e12,
  kib: 2 ** 10,
  mib: 2 ** 20,
  gib: 2 ** 30,
  ns: 1,
  µs: 1e3,
  us: 1e3,
  ms: 1e6,
  s: 1e9
};

function compared(one: number | string, other: number | string): number {
  if (typeof one === 'number' && typeof other === 'number') {
    return one - other;
  }
  if (typeof one !== typeof other) {
    return typeof one === 'number' ? -1 : 1;
  }
  return one < other ? -1 : one > other ? 1 : 0;
}

function flat(text: string): string {
  return text.replace(/\s+/g, ' ');
}
