/**
 * Which sources each cell of a notebook has run: read from the outputs, saved or new.
 */

import type {
  FunctionMapPayload,
  MarkedPayload,
  ProvenancePayload
} from '../protocol.ts';
import { FORMAT, mimeType } from '../protocol.ts';
import { likeness, startsLike } from './align.ts';
import type { IMarkedSource } from './marks.ts';
import { sourcesOf } from './marks.ts';

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

/** An output that shows a map among other things. */
interface IShown {
  readonly provenance?: ProvenancePayload | null;
}

/** A function that ran, and the cell that it stands in. */
interface IRan {
  readonly count: number;
  readonly functions: readonly FunctionMapPayload[];
  /** The cell of a source, or null where it is in none. */
  home(source: IMarkedSource): string | null;
}

/**
 * For each cell, by id, what of it ran: the latest of each file.
 *
 * @param told - functions that no output shows, as the kernel tells of them.
 */
export function assigned(
  cells: readonly ICellSource[],
  told: readonly MarkedPayload[] = []
): Map<string, IMarkedSource[]> {
  const found = new Map<string, Map<string, FunctionMapPayload[]>>();
  const ran = [
    ...told.map(one => ofKernel(one, cells)),
    ...cells.flatMap((cell, place) => cell.outputs.map(one => ofOutput(one, cell, cells, place)))
  ].sort((one, other) => one.count - other.count);
  for (const { functions, home } of ran) {
    for (const source of sourcesOf(functions.filter(isWhole))) {
      const id = home(source);
      if (id !== null) {
        const files = found.get(id) ?? new Map<string, FunctionMapPayload[]>();
        const known = files.get(source.file) ?? [];
        files.delete(source.file); // what ran last comes last
        files.set(source.file, [
          ...known,
          ...functions.filter(one => isWhole(one) && one.file === source.file)
        ]);
        found.set(id, files);
      }
    }
  }
  return new Map(
    [...found].map(([id, files]) => [id, newest([...files.values()].flatMap(latest))])
  );
}

/** The sources of functions of one file: of each function what ran last. */
function latest(functions: readonly FunctionMapPayload[]): IMarkedSource[] {
  return sourcesOf([
    ...new Map(functions.map(one => [`${one.first_line}:${one.name}`, one])).values()
  ]);
}

function ofKernel(one: MarkedPayload, cells: readonly ICellSource[]): IRan {
  const isHere = cells.some(cell => cell.id === one.cell);
  return {
    count: one.count,
    functions: [one.function],
    home: source => (isHere ? one.cell : home(source, cells, cells.length - 1))
  };
}

function ofOutput(
  output: Readonly<Record<string, unknown>>,
  cell: ICellSource,
  cells: readonly ICellSource[],
  place: number
): IRan {
  const own = known<IShown>(output[JIT])?.provenance?.functions;
  const shown = known<ProvenancePayload>(output[PROVENANCE])?.functions;
  const file = own?.find(one => one.name === '<module>')?.file ?? own?.[0]?.file;
  return {
    count: cell.executionCount ?? 0,
    functions: own ?? shown ?? [],
    home: source => (own && source.file === file ? cell.id : home(source, cells, place))
  };
}

/** Data of a format that this code knows. */
function known<T>(data: unknown): T | null {
  const format = (data as { format?: unknown } | null | undefined)?.format;
  return typeof format === 'number' && format <= FORMAT ? (data as T) : null;
}

/** Whether a map has all that is read here: the file of a notebook may hold anything. */
export function isWhole(one: FunctionMapPayload): boolean {
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
