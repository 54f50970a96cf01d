/**
 * What is said of live arrays.
 */

import type { LiveRow } from '../protocol';
import { bytes, counted } from '../shared/texts.ts';

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
