/**
 * What is told of a run, in rows.
 */

import type { JitPayload, ProvenancePayload } from '../protocol';
import { duration } from '../shared/texts.ts';

/** The stages that took time. */
export function timesOf(data: Pick<JitPayload, 'times_ns'>): [string, string][] {
  return Object.entries(data.times_ns)
    .filter((one): one is [string, number] => !!one[1])
    .map(([stage, time]) => [stage, duration(time)]);
}

/** The inputs: traced ones with their types, static ones with their values. */
export function inputsOf(data: Pick<JitPayload, 'traced' | 'static'>): [string, string, string][] {
  const rows = (inputs: Record<string, string>, mark: string): [string, string, string][] =>
    Object.entries(inputs).map(([name, what]) => [name, mark, what]);
  return [...rows(data.traced, 'T traced'), ...rows(data.static, 'S static')];
}

/** The names of what was traced, what each is, and its type or value. */
export function factsOf(data: ProvenancePayload): [string, string, string][] {
  return data.functions.flatMap(one =>
    one.names.map((name): [string, string, string] => [name.name, name.kind, name.detail])
  );
}

/** A warning's sentence, and the code that it gives. */
export function warningOf(warning: string): { sentence: string; code: string } {
  const end = warning.indexOf('\n');
  return end < 0
    ? { sentence: warning, code: '' }
    : { sentence: warning.slice(0, end), code: undented(warning.slice(end + 1)) };
}

function undented(code: string): string {
  const lines = code.split('\n');
  const indents = lines.filter(one => one.trim()).map(one => /^ */.exec(one)?.[0].length ?? 0);
  const least = Math.min(...indents, 80);
  return lines.map(one => one.slice(least)).join('\n');
}
