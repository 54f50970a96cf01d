/**
 * What the panel says: places, and what is worth a warning.
 */

import type {
  LedgerAnswer,
  LedgerRowPayload,
  LedgerTotal,
  LiveRow,
  TracedFunction
} from '../protocol';
import { builtIn, bytes, counted, duration } from '../shared/texts.ts';

/** A cell that a text names, and the line in it. */
export interface ICellPlace {
  readonly label: string;
  readonly number: number;
  /** From 1; 0 where none is named. */
  readonly line: number;
}

/** Finds the cell that `In[3]` or `Cell In[3], line 2` names; null where it is a file. */
export function cellPlace(text: string | null): ICellPlace | null {
  const found = /^(?:Cell )?(In\[(\d+)\])(?:, line (\d+))?/.exec(text ?? '');
  if (!found) {
    return null;
  }
  return { label: found[1] ?? '', number: Number(found[2]), line: Number(found[3] ?? 0) };
}

/** `Cell In[3], line 2` without what goes without saying. */
export function shortPlace(text: string): string {
  const cell = cellPlace(text);
  if (cell) {
    return cell.line ? `${cell.label}:${cell.line}` : cell.label;
  }
  return text.split(/[\\/]/).slice(-2).join('/');
}

/** The sum of the ledger in a line. */
export function ledgerSummary(answer: Pick<LedgerAnswer, 'by_function'>): string {
  const sum = (read: (one: LedgerTotal) => number): number =>
    answer.by_function.reduce((total, one) => total + read(one), 0);
  return builtIn(
    sum(one => one.builds),
    sum(one => one.cost_ns),
    sum(one => one.avoidable)
  );
}

/** A function that keeps being built again. */
export interface IStorm {
  readonly fun: string;
  readonly text: string;
  readonly fix: string;
}

/** The functions that were built again too often, and what would end it. */
export function storms(
  answer: Pick<LedgerAnswer, 'by_function' | 'rows'>,
  limit: number
): readonly IStorm[] {
  if (limit <= 0) {
    return [];
  }
  return answer.by_function
    .filter(one => one.avoidable >= limit)
    .map(one => ({
      fun: one.label,
      text: `built again ${counted(one.avoidable, 'time')} for reasons that can be avoided, ${duration(one.cost_ns)} in all`,
      fix: answer.rows.find(row => row.fun === one.label && row.fix)?.fix ?? ''
    }));
}

/** The stages that a build went through, with their times. */
export function stagesOf(row: LedgerRowPayload): string {
  const stages = [
    ['trace', row.trace_ns],
    ['lower', row.lower_ns],
    [row.from_disk ? 'from disk' : 'compile', row.compile_ns]
  ] as const;
  return stages
    .filter(([, time]) => time > 0)
    .map(([name, time]) => `${name} ${duration(time)}`)
    .join(' · ');
}

/** Whether all words that were typed are somewhere in some texts. */
export function fits(words: string, ...texts: readonly (string | null)[]): boolean {
  const text = texts.join(' ').toLowerCase();
  return words
    .toLowerCase()
    .split(/\s+/)
    .every(one => text.includes(one));
}

/** What is known of a function, in a line. */
export function functionLine(row: TracedFunction): string {
  const parts = [`${counted(row.kept, 'trace')} kept`];
  if (row.builds) {
    const again = row.avoidable ? ` (${row.avoidable} again)` : '';
    parts.push(`${counted(row.builds, 'build')}${again}`, duration(row.cost_ns));
  }
  return parts.join(' · ');
}

/** All that hold an array. */
export function heldBy(row: Pick<LiveRow, 'names' | 'outputs' | 'holders'>): readonly string[] {
  return [...row.names, ...row.outputs.map(number => `Out[${number}]`), ...row.holders];
}

/** Arrays in two lists: those to show and those to fold. */
export function bySize(
  rows: readonly LiveRow[],
  kilobytes: number
): { readonly large: readonly LiveRow[]; readonly small: readonly LiveRow[] } {
  const isLarge = (one: LiveRow): boolean => one.deleted || one.bytes >= kilobytes * 1000;
  return { large: rows.filter(isLarge), small: rows.filter(one => !isLarge(one)) };
}

/** What is asked before arrays are released. */
export function releaseQuestion(freeing: {
  readonly names: readonly string[];
  readonly arrays: number;
  readonly bytes: number;
  readonly also: readonly string[];
}): string {
  const what = `${counted(freeing.arrays, 'array')} (${bytes(freeing.bytes)})`;
  const names = freeing.names.join(', ');
  const gone = freeing.names.length === 1 ? 'The name is' : 'The names are';
  const lines = [`${what} held by ${names} will be deleted. ${gone} gone afterwards.`];
  if (freeing.also.length) {
    const listed = freeing.also.slice(0, 6).join(', ');
    const more = freeing.also.length > 6 ? ` and ${freeing.also.length - 6} more` : '';
    lines.push(`Also held by ${listed}${more}: reading them will fail.`);
  }
  return lines.join('\n');
}
