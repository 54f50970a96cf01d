/**
 * Which lines of a cell are the lines that ran.
 */

/** What a line that ran has become. */
export interface ILineMatch {
  /** The index of the cell's line. */
  readonly index: number;
  /** Whether its text is another by now. */
  readonly isEdited: boolean;
}

/** More line pairs than this are not compared: the common beginning and end must do. */
const MOST_PAIRS = 400_000;

/**
 * Finds each line that ran in the cell as it is now.
 *
 * Lines that are equal and in the same order are the same line. Between them, as many lines as
 * there were have been edited in place; of a gap with another number of lines nothing is said.
 *
 * @param ran - the lines that ran, in order.
 * @param now - the cell's lines.
 * @returns for each line that ran what it is now, or null where it is gone.
 */
export function aligned(ran: readonly string[], now: readonly string[]): (ILineMatch | null)[] {
  const found = placed(ran, now) ?? pairs(ran, now);
  if (!found.some(index => index >= 0)) {
    return ran.map(() => null);
  }
  return ran.map((_, line) => {
    const index = found[line] ?? -1;
    return index >= 0 ? { index, isEdited: false } : edited(line, found, ran.length, now.length);
  });
}

/** How large a part of the lines that ran is in a text as it is; empty lines do not count. */
export function likeness(ran: readonly string[], now: readonly string[]): number {
  const known = new Set(now.filter(one => one.trim()));
  const asked = ran.filter(one => one.trim());
  return asked.length ? asked.filter(one => known.has(one)).length / asked.length : 0;
}

/** Whether a text has the first line that ran that is not empty. */
export function startsLike(ran: readonly string[], now: readonly string[]): boolean {
  const first = ran.find(one => one.trim());
  return first !== undefined && now.includes(first);
}

/** The lines as one block, where the text has it once. */
function placed(ran: readonly string[], now: readonly string[]): number[] | null {
  const starts: number[] = [];
  for (let start = 0; start + ran.length <= now.length; start++) {
    if (ran.every((text, line) => now[start + line] === text)) {
      starts.push(start);
    }
  }
  const [start] = starts;
  return starts.length === 1 && start !== undefined ? ran.map((_, line) => start + line) : null;
}

/** A longest common subsequence: for each line that ran the index of its line now, or -1. */
function pairs(ran: readonly string[], now: readonly string[]): number[] {
  const found = ran.map(() => -1);
  let end = 0;
  const most = Math.min(ran.length, now.length);
  while (end < most && ran[ran.length - 1 - end] === now[now.length - 1 - end]) {
    end += 1;
    found[ran.length - end] = now.length - end;
  }
  let start = 0;
  while (start < most - end && ran[start] === now[start]) {
    found[start] = start;
    start += 1;
  }
  const height = ran.length - end - start;
  const width = now.length - end - start;
  if (height * width <= MOST_PAIRS) {
    common(ran.slice(start, start + height), now.slice(start, start + width)).forEach(
      (index, line) => {
        found[start + line] = index < 0 ? -1 : start + index;
      }
    );
  }
  return found;
}

function common(ran: readonly string[], now: readonly string[]): number[] {
  const width = now.length + 1;
  const longest = new Uint32Array((ran.length + 1) * width);
  const at = (line: number, index: number): number => longest[line * width + index] ?? 0;
  for (let line = ran.length - 1; line >= 0; line--) {
    for (let index = now.length - 1; index >= 0; index--) {
      longest[line * width + index] =
        ran[line] === now[index]
          ? at(line + 1, index + 1) + 1
          : Math.max(at(line + 1, index), at(line, index + 1));
    }
  }
  const found = ran.map(() => -1);
  let index = 0;
  for (let line = 0; line < ran.length && index < now.length; ) {
    if (ran[line] === now[index]) {
      found[line++] = index++;
    } else if (at(line + 1, index) >= at(line, index + 1)) {
      line += 1;
    } else {
      index += 1;
    }
  }
  return found;
}

/** The line in the same place of a gap that has as many lines as there were. */
function edited(
  line: number,
  found: readonly number[],
  ran: number,
  now: number
): ILineMatch | null {
  let before = line;
  while (before >= 0 && found[before] === -1) {
    before -= 1;
  }
  let after = line;
  while (after < ran && found[after] === -1) {
    after += 1;
  }
  const end = after < ran ? (found[after] ?? now) : now;
  // Above the first line that ran there may be others, as the magic's own.
  const start = before >= 0 ? (found[before] ?? -1) : end - (after - before);
  return end - start === after - before ? { index: start + line - before, isEdited: true } : null;
}
