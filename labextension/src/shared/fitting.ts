/**
 * Which columns a table has room for, and how wide they are, in characters.
 */

import type { IColumn } from './sorting.ts';

/** What the column that takes what is left gets where there is room, and what it can do with. */
const REST = 28;
const LEAST_REST = 10;
/** What lies between two columns, and at the ends. */
const GAP = 2;

/** The columns that are shown, by their numbers, and what they need. */
export interface IFitting {
  readonly shown: readonly number[];
  /** The template of the grid. */
  readonly template: string;
  /** In less room than that the table scrolls. */
  readonly least: number;
}

/** What a table shows in so much room: minor columns are left out, the last first. */
export function fitting<T>(columns: readonly IColumn<T>[], room: number): IFitting {
  let shown = columns.map((_, index) => index);
  while (need(columns, shown, REST) > room) {
    const last = shown.findLast(index => columns[index]?.isMinor);
    if (last === undefined) {
      break;
    }
    shown = shown.filter(index => index !== last);
  }
  const rest = Math.max(LEAST_REST, Math.min(REST, Math.floor(room - need(columns, shown, 0))));
  return {
    shown,
    template: shown.map(index => width(columns[index] as IColumn<T>, rest)).join(' '),
    least: need(columns, shown, rest)
  };
}

function need<T>(
  columns: readonly IColumn<T>[],
  shown: readonly number[],
  rest: number
): number {
  return shown.reduce((sum, index) => sum + (columns[index]?.width || rest) + GAP, GAP);
}

function width<T>(column: IColumn<T>, rest: number): string {
  if (!column.width) {
    return `minmax(${rest}ch, 1fr)`;
  }
  return column.most ? `minmax(${column.width}ch, ${column.most}ch)` : `${column.width}ch`;
}
