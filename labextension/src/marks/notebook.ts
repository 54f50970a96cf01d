/**
 * Which sources each cell of a notebook has run: read from the outputs, saved or new.
 */

import type { FunctionMapPayload, JitPayload, ProvenancePayload } from '../protocol.ts';
import { FORMAT, mimeType } from '../protocol.ts';
import { likeness, startsLike } from '../shared/align.ts';
import type { IMarkedSource } from '../shared/marks.ts';
import { sourcesOf } from '../shared/marks.ts';

/** A cell as this needs it. */
export interface ICellSource {
  readonly id: string;
  readonly text: string;
  /** Its outputs' data, by MIME type. */
  readonly outputs: readonly Readonly<Record<string, unknown>>[];
  readonly executionCount: number | null;
}

const JIT = mimeType('jit');
const PROVENANCE = mimeType('provenance');

/** A function of another cell is looked for where this much of it stands. */
const ENOUGH = 0.6;

/** For each cell, by id, what of it ran: the latest of each file. */
export function assigned(cells: readonly ICellSource[]): Map<string, IMarkedSource[]> {
  const found = new Map<string, Map<string, IMarkedSource>>();
  const add = (id: string, source: IMarkedSource): void => {
    const of = found.get(id) ?? new Map<string, IMarkedSource>();
    found.set(id, of.set(source.file, source));
  };
  const ran = cells
    .map((cell, place) => ({ cell, place }))
    .sort((one, other) => (one.cell.executionCount ?? 0) - (other.cell.executionCount ?? 0));
  for (const { cell, place } of ran) {
    for (const output of cell.outputs) {
      const own = known<JitPayload>(output[JIT])?.provenance?.functions;
      const shown = known<ProvenancePayload>(output[PROVENANCE])?.functions;
      const functions = own ?? shown ?? [];
      const file = own?.find(one => one.name === '<module>')?.file ?? own?.[0]?.file;
      for (const source of sourcesOf(functions.filter(isWhole))) {
        const id = own && source.file === file ? cell.id : home(source, cells, place);
        if (id !== null) {
          add(id, source);
        }
      }
    }
  }
  return new Map([...found].map(([id, files]) => [id, newest([...files.values()])]));
}

/** Data of a format that this code knows. */
function known<T>(data: unknown): T | null {
  const format = (data as { format?: unknown } | null | undefined)?.format;
  return typeof format === 'number' && format <= FORMAT ? (data as T) : null;
}

/** Whether a map has all that is read here: the file of a notebook may hold anything. */
function isWhole(one: FunctionMapPayload): boolean {
  return (
    Number.isInteger(one.source_line) &&
    [one.source, one.marks, one.names, one.loops].every(Array.isArray)
  );
}

/** Sources that say the same lines are of runs of one cell: the latest of them stands. */
function newest(sources: readonly IMarkedSource[]): IMarkedSource[] {
  return sources.filter(
    (one, index) =>
      !sources.slice(index + 1).some(later => likeness(one.lines, later.lines) >= ENOUGH)
  );
}

/** The cell that a function of another cell stands in: the nearest above that is like it. */
function home(
  source: IMarkedSource,
  cells: readonly ICellSource[],
  place: number
): string | null {
  const near = [...cells.slice(0, place + 1).reverse(), ...cells.slice(place + 1)];
  let best: { id: string; score: number } | null = null;
  for (const cell of near) {
    const lines = cell.text.split('\n');
    const score = startsLike(source.lines, lines) ? likeness(source.lines, lines) : 0;
    if (score >= ENOUGH && score > (best?.score ?? 0)) {
      best = { id: cell.id, score };
    }
  }
  return best?.id ?? null;
}
