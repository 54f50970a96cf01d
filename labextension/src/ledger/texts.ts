/**
 * What the ledger's sections say, and what is worth a warning.
 */

import type { LedgerAnswer, LedgerRowPayload, LedgerTotal, TracedFunction } from '../protocol';
import { builtIn, counted, duration } from '../shared/texts.ts';

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

/** What is known of a function, in a line. */
export function functionLine(row: TracedFunction): string {
  const parts = [`${counted(row.kept, 'trace')} kept`];
  if (row.builds) {
    const again = row.avoidable ? ` (${row.avoidable} again)` : '';
    parts.push(`${counted(row.builds, 'build')}${again}`, duration(row.cost_ns));
  }
  return parts.join(' · ');
}
