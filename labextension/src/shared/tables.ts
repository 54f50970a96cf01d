/**
 * Tables of texts as they come from the kernel: their columns, sized and sorted by what they hold.
 */

import type { TablePayload } from '../protocol.ts';
import type { IColumn } from './sorting.ts';
import { quantity } from './sorting.ts';

const WIDEST = 40;
const LOOKED_AT = 200;

/** The columns that hold anything; of those that are words the widest takes what is left. */
export function columnsOf(table: TablePayload, bars: readonly string[] = []): IColumn<string[]>[] {
  const sample = table.rows.slice(0, LOOKED_AT);
  const columns = table.head.map((_, index) => columnOf(table, sample, index, bars));
  const isWords = (one: IColumn<string[]>): boolean =>
    !one.isNumeric && !one.bar && sample.some(row => one.text(row));
  const words = columns.filter(isWords);
  const rest = words.reduceRight<IColumn<string[]> | null>(
    (found, one) => (found && found.width >= one.width ? found : one),
    null
  );
  return columns
    .filter((_, index) => !table.rows.length || table.rows.some(row => row[index]))
    .map(one => (one === rest ? { ...one, width: 0 } : one));
}

function columnOf(
  table: TablePayload,
  sample: readonly string[][],
  index: number,
  bars: readonly string[]
): IColumn<string[]> {
  const title = table.head[index] ?? '';
  const text = (row: string[]): string => row[index] ?? '';
  const longest = sample.reduce((found, row) => Math.max(found, text(row).length), 0);
  const hasNumbers =
    longest > 0 && sample.every(row => !text(row) || typeof quantity(text(row)) === 'number');
  const most = table.rows.reduce((found, row) => Math.max(found, amount(text(row))), 0);
  const hasBar = bars.includes(title) && most > 0;
  const width = Math.min(Math.max(title.length + 2, longest + 1), WIDEST);
  return {
    title,
    text,
    key: hasNumbers ? row => (text(row) ? quantity(text(row)) : -1) : text,
    width: width + (hasBar ? 9 : 0),
    isNumeric: hasNumbers && !hasBar,
    ...(hasBar ? { bar: (row: string[]) => amount(text(row)) / most } : {})
  };
}

function amount(text: string): number {
  const value = quantity(text);
  return typeof value === 'number' ? value : 0;
}

/** The rows that are not among those sent. */
export function leftOut(table: TablePayload): string {
  const more = table.count - table.rows.length;
  return more > 0 ? `… ${more.toLocaleString('en')} more` : '';
}
