/**
 * The rows of a comparison, with what is the same folded or shown.
 */

import type { DiffPayload, DiffRow, SamePayload } from '../protocol';
import { levels } from '../shared/texts.ts';

/** A row of the comparison, or a number of rows that are the same. */
export type DiffLine = DiffRow | SamePayload;

/** Whether a row stands for rows that are the same. */
export function isSame(row: DiffLine): row is SamePayload {
  return 'same' in row;
}

/** Whether a row says that something changed. */
export function isChange(row: DiffLine | undefined): boolean {
  return !!row && !isSame(row) && row.sign !== '=';
}

/** Where changes begin: the first row of each run of changed rows. */
export function changesIn(rows: readonly DiffLine[]): number[] {
  const found: number[] = [];
  rows.forEach((row, index) => {
    if (isChange(row) && !isChange(rows[index - 1])) {
      found.push(index);
    }
  });
  return found;
}

/** The rows to show: all, or the changed ones alone. */
export function shownRows(data: DiffPayload, onlyChanges: boolean): DiffLine[] {
  return onlyChanges ? data.rows.filter(isChange) : data.rows;
}

/** A text, and which part of it the other side has not. */
export interface IChanged {
  readonly start: string;
  readonly changed: string;
  readonly end: string;
}

/** What two texts begin and end with alike, by whole words, and what lies between. */
export function changedParts(before: string, after: string): [IChanged, IChanged] {
  const first = before.split(WORDS);
  const second = after.split(WORDS);
  const most = Math.min(first.length, second.length);
  let start = 0;
  while (start < most && first[start] === second[start]) {
    start += 1;
  }
  let end = 0;
  while (end < most - start && first.at(-1 - end) === second.at(-1 - end)) {
    end += 1;
  }
  const cut = (words: string[]): IChanged => ({
    start: words.slice(0, start).join(''),
    changed: words.slice(start, words.length - end).join(''),
    end: words.slice(words.length - end).join('')
  });
  return [cut(first), cut(second)];
}

const WORDS = /(?<=[\s:,[\]])|(?=[\s:,[\]])/;

/** A row's two sides, indented. */
export function sidesOf(row: DiffRow): { before: string; after: string } {
  const indent = '  '.repeat(levels(row.depth));
  const side = (text: string): string => (text ? indent + text : '');
  return { before: side(row.before), after: side(row.after || (row.sign === '=' ? row.before : '')) };
}
