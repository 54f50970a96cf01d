/**
 * Texts and numbers as views write them.
 */

/** The stretches of a text before, in and after each place where words are found. */
export function found(text: string, words: string): { text: string; isFound: boolean }[] {
  const sought = words.trim().toLowerCase();
  if (!sought) {
    return [{ text, isFound: false }];
  }
  const stretches: { text: string; isFound: boolean }[] = [];
  const lower = text.toLowerCase();
  let at = 0;
  for (let next = lower.indexOf(sought); next >= 0; next = lower.indexOf(sought, at)) {
    stretches.push({ text: text.slice(at, next), isFound: false });
    at = next + sought.length;
    stretches.push({ text: text.slice(next, at), isFound: true });
  }
  stretches.push({ text: text.slice(at), isFound: false });
  return stretches.filter(one => one.text);
}

/** A number of floating-point operations, as the kernel writes it. */
export function flops(count: number): string {
  return scaled(count, ['flop', 'kflop', 'Mflop', 'Gflop', 'Tflop']);
}

/** A number of bytes, as the kernel writes it: a MB is a million. */
export function bytes(count: number): string {
  return scaled(count, ['B', 'KB', 'MB', 'GB']);
}

/** A time, as the kernel writes it. */
export function duration(nanoseconds: number): string {
  return scaled(nanoseconds, ['ns', 'µs', 'ms', 's']);
}

/** Seconds without a fraction, as a clock that runs shows them. */
export function seconds(nanoseconds: number): string {
  return `${Math.floor(nanoseconds / 1e9)} s`;
}

/** A number with three figures, in the unit that fits. */
function scaled(count: number, units: readonly string[]): string {
  let size = count;
  let unit = 0;
  while (size >= 999.5 && unit < units.length - 1) {
    size /= 1000;
    unit += 1;
  }
  const figures = size >= 1000 ? Math.round(size) : Number(size.toPrecision(3));
  return `${figures} ${units[unit]}`;
}

/** A count with its noun. */
export function counted(count: number, noun: string): string {
  return `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`;
}

/** The sum of a ledger, as the kernel writes it. */
export function builtIn(builds: number, cost: number, again: number): string {
  const parts = [counted(builds, 'build'), duration(cost)];
  return [...parts, ...(again ? [`${again.toLocaleString('en')} again`] : [])].join(' · ');
}

/** The time of the day, in the reader's own zone. */
export function clock(seconds: number): string {
  return new Date(seconds * 1000).toTimeString().slice(0, 8);
}

/** A depth that can be drawn, whatever a file says. */
export function levels(depth: number): number {
  return Math.min(Math.max(Math.floor(depth) || 0, 0), 100);
}

/** Begins a text with a capital letter, as headings do. */
export function capitalised(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

/** Whether all words that were typed are somewhere in some texts. */
export function fits(words: string, ...texts: readonly (string | null)[]): boolean {
  const text = texts.join(' ').toLowerCase();
  return words
    .toLowerCase()
    .split(/\s+/)
    .every(one => text.includes(one));
}

/** The holders of an array, by kind. */
export interface IHeld {
  readonly names: readonly string[];
  readonly outputs: readonly number[];
  readonly holders: readonly string[];
}

/** All that hold an array. */
export function heldBy(row: IHeld): readonly string[] {
  return [...row.names, ...row.outputs.map(number => `Out[${number}]`), ...row.holders];
}
