/**
 * What the ledger says in numbers and words.
 */

import type { LedgerPayload, LedgerRowPayload } from '../protocol.ts';
import type { IColumn } from '../shared/sorting.ts';
import { builtIn, capitalised, clock, duration } from '../shared/texts.ts';

/** Rows taken together. */
export interface ITotal {
  readonly label: string;
  readonly builds: number;
  readonly again: number;
  readonly cost: number;
}

/** What rows can be taken together by. */
export const GROUPS = ['build', 'cell', 'function', 'call site', 'reason'] as const;
export type Group = (typeof GROUPS)[number];

/** Which rows are shown. */
export const FILTERS = ['all', 'again', 'failed'] as const;
export type Filter = (typeof FILTERS)[number];

/** Whether a row is a rebuild: something of the key had changed. */
export function isAgain(row: LedgerRowPayload): boolean {
  return row.reasons.some(one => one.kind !== 'first_call');
}

/** The rows that a filter leaves. */
export function filtered(rows: readonly LedgerRowPayload[], filter: Filter): LedgerRowPayload[] {
  const kept = { all: () => true, again: isAgain, failed: isFailed };
  return rows.filter(kept[filter]);
}

/** Which looks a row has. */
export function kindOf(row: LedgerRowPayload): string {
  return isFailed(row) ? 'failed' : row.storm || row.slow ? 'storm' : '';
}

function isFailed(row: LedgerRowPayload): boolean {
  return row.error !== null;
}

/** Adds rows up by what they have in common, the costliest first. */
export function totals(rows: readonly LedgerRowPayload[], group: Group): ITotal[] {
  const found = new Map<string, { builds: number; again: number; cost: number }>();
  for (const row of rows) {
    const label = labelOf(row, group);
    const sum = found.get(label) ?? { builds: 0, again: 0, cost: 0 };
    found.set(label, sum);
    sum.builds += 1;
    sum.again += isAgain(row) ? 1 : 0;
    sum.cost += row.cost_ns;
  }
  const listed = [...found].map(([label, sum]) => ({ label, ...sum }));
  return listed.sort((one, other) => other.cost - one.cost);
}

function labelOf(row: LedgerRowPayload, group: Group): string {
  switch (group) {
    case 'cell':
      return row.cell ?? 'outside cells';
    case 'function':
      return row.fun;
    case 'call site':
      return row.site || 'not from a call';
    case 'reason':
      return row.reasons.map(one => one.kind.replaceAll('_', ' ')).join(', ') || 'not traced';
    case 'build':
      return `${row.number}`;
  }
}

/** The heading, as the kernel writes it: how much was built, at what cost, and what of it again. */
export function heading(data: LedgerPayload): string {
  const { rows } = data;
  const cost = rows.reduce((sum, row) => sum + row.cost_ns, 0);
  const again = rows.filter(isAgain).length;
  return builtIn(rows.length, cost, again);
}

/** What is not among the rows. */
export function leftOut(data: LedgerPayload): string[] {
  const notes = [
    [data.left_out, 'earlier builds are not shown'],
    [data.dropped, 'earlier events were dropped']
  ] as const;
  return notes
    .filter(([count]) => count > 0)
    .map(([count, what]) => `${count.toLocaleString('en')} ${what}`);
}

/** What the timeline shows: of a long ledger the latest builds. */
export function timelineTitle({ rows, timeline }: LedgerPayload): string {
  const first = timeline.bars.reduce((least, bar) => Math.min(least, bar.row), Infinity);
  const before = rows.some(row => row.number < first && row.cost_ns > 0);
  return before ? `Timeline from build ${first.toLocaleString('en')} on` : 'Timeline';
}

/** The columns of the builds: those last that a narrow page shows only when it is scrolled. */
export function columns(rows: readonly LedgerRowPayload[]): IColumn<LedgerRowPayload>[] {
  const most = rows.reduce((found, row) => Math.max(found, row.cost_ns), 1);
  const longest = rows.reduce((found, row) => Math.max(found, row.fun.length), 8);
  const time = (
    title: string,
    of: (row: LedgerRowPayload) => number
  ): IColumn<LedgerRowPayload> => ({
    title,
    width: 9,
    isNumeric: true,
    isMinor: true,
    text: row => (of(row) ? duration(of(row)) : ''),
    key: of
  });
  return [
    {
      title: '#',
      width: 6,
      isNumeric: true,
      isMinor: true,
      text: row => `${row.number}`,
      key: row => row.number
    },
    { title: 'Time', width: 8, isMinor: true, text: row => clock(row.when), key: row => row.when },
    { title: 'Cell', width: 8, isMinor: true, text: row => row.cell ?? '' },
    {
      title: 'Function',
      width: Math.min(longest, 18),
      most: Math.min(longest, 40),
      text: row => row.fun
    },
    { title: 'Why', width: 0, text: row => row.why },
    {
      title: 'Cost',
      width: 17,
      text: row => duration(row.cost_ns),
      key: row => row.cost_ns,
      bar: row => row.cost_ns / most
    },
    time('Trace', row => row.trace_ns),
    time('Lower', row => row.lower_ns),
    time('Compile', row => row.compile_ns)
  ];
}

/** The columns of sums. */
export function totalColumns(group: Group, rows: readonly ITotal[]): IColumn<ITotal>[] {
  const most = rows.reduce((found, row) => Math.max(found, row.cost), 1);
  return [
    { title: capitalised(group), width: 0, text: row => row.label },
    { title: 'Builds', width: 9, isNumeric: true, text: row => `${row.builds}`, key: row => row.builds },
    { title: 'Again', width: 9, isNumeric: true, text: row => `${row.again}`, key: row => row.again },
    {
      title: 'Cost',
      width: 17,
      text: row => duration(row.cost),
      key: row => row.cost,
      bar: row => row.cost / most
    }
  ];
}
