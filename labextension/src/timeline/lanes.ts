/**
 * Lanes of a profile on an axis from which idle time is taken out.
 */

import type { LanePayload, SlicePayload } from '../protocol.ts';

/** A stretch with its place: `row` within its lane, `start` and `length` on the axis. */
export interface IDrawnSlice {
  readonly slice: SlicePayload;
  readonly row: number;
  readonly start: number;
  readonly length: number;
}

/** A lane with its stretches, and how many rows they take. */
export interface IDrawnLane {
  readonly name: string;
  readonly kind: string;
  readonly more: number;
  readonly rows: number;
  readonly slices: readonly IDrawnSlice[];
}

/** Where idle time was taken out of the axis, and how much. */
export interface ICut {
  readonly at: number;
  readonly idle: number;
}

/** All lanes on one axis of `length` nanoseconds. */
export interface IDrawnTimeline {
  readonly lanes: readonly IDrawnLane[];
  readonly cuts: readonly ICut[];
  readonly length: number;
}

/** Idle stretches longer than this part of all work are shortened to it. */
const IDLE_PART = 0.03;

/** Puts all slices on one axis, and those that overlap in rows of their own. */
export function drawnTimeline(lanes: readonly LanePayload[]): IDrawnTimeline {
  const busy = merged(lanes.flatMap(lane => lane.slices));
  const work = busy.reduce((sum, one) => sum + one.end - one.start, 0);
  const idle = work * IDLE_PART;
  const offsets: number[] = [];
  const cuts: ICut[] = [];
  let length = 0;
  busy.forEach((one, index) => {
    const gap = index ? one.start - (busy[index - 1]?.end ?? 0) : 0;
    if (gap > idle) {
      cuts.push({ at: length + idle / 2, idle: gap });
    }
    length += Math.min(gap, idle);
    offsets.push(one.start - length);
    length += one.end - one.start;
  });
  const starts = busy.map(one => one.start);
  const onAxis = (time: number): number => time - (offsets[last(starts, time)] ?? 0);
  return { lanes: lanes.map(lane => drawnLane(lane, onAxis)), cuts, length };
}

function drawnLane(lane: LanePayload, onAxis: (time: number) => number): IDrawnLane {
  const ends: number[] = [];
  const inOrder = [...lane.slices].sort(
    (one, other) => one.start_ns - other.start_ns || other.duration_ns - one.duration_ns
  );
  const slices = inOrder.map(slice => {
    let row = ends.findIndex(end => end <= slice.start_ns);
    row = row < 0 ? ends.length : row;
    ends[row] = slice.start_ns + slice.duration_ns;
    return { slice, row, start: onAxis(slice.start_ns), length: slice.duration_ns };
  });
  const { name, kind, count } = lane;
  return { name, kind, more: count - slices.length, rows: Math.max(ends.length, 1), slices };
}

interface IStretch {
  readonly start: number;
  readonly end: number;
}

/** The stretches in which anything happens. */
function merged(slices: readonly SlicePayload[]): IStretch[] {
  const sorted = slices
    .map(one => ({ start: one.start_ns, end: one.start_ns + one.duration_ns }))
    .sort((one, other) => one.start - other.start);
  const found: { start: number; end: number }[] = [];
  for (const one of sorted) {
    const before = found.at(-1);
    if (before && one.start <= before.end) {
      before.end = Math.max(before.end, one.end);
    } else {
      found.push({ ...one });
    }
  }
  return found;
}

/** The index of the last of sorted numbers that is not above a number. */
function last(numbers: readonly number[], number: number): number {
  let low = 0;
  let high = numbers.length - 1;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((numbers[middle] ?? 0) <= number) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

/** A part of the axis. */
export interface IWindow {
  readonly start: number;
  readonly length: number;
}

/** A window zoomed about a place of it, from 0 to 1, within an axis. */
export function zoomed(window: IWindow, factor: number, about: number, axis: number): IWindow {
  const length = Math.min(Math.max(window.length * factor, axis / 5_000), axis);
  return moved({ start: window.start + about * (window.length - length), length }, 0, axis);
}

/** A window moved by a part of its own length. */
export function moved(window: IWindow, part: number, axis: number): IWindow {
  const start = window.start + part * window.length;
  return { ...window, start: Math.min(Math.max(start, 0), axis - window.length) };
}
