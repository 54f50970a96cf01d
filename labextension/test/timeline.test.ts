import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { SlicePayload } from '../src/protocol.ts';
import { drawnTimeline, moved, zoomed } from '../src/timeline/lanes.ts';

function slice(start_ns: number, duration_ns: number): SlicePayload {
  return { name: 'dot', hue: 0, start_ns, duration_ns, program: '', origin: '', spots: [] };
}

test('idle time is taken out of the axis, and what overlaps has rows of its own', () => {
  const slices = [slice(0, 100), slice(50, 20), slice(1_000_000, 100)];
  const drawn = drawnTimeline([{ name: 'cpu:0', kind: 'device', count: 5, slices }]);
  const [lane] = drawn.lanes;
  assert.deepEqual(
    lane?.slices.map(one => [one.row, one.start]),
    [
      [0, 0],
      [1, 50],
      [0, 106]
    ]
  );
  assert.deepEqual([lane?.rows, lane?.more, drawn.length], [2, 2, 206]);
  assert.deepEqual(drawn.cuts, [{ at: 103, idle: 999_900 }]);
  assert.deepEqual(drawnTimeline([]).length, 0);
});

test('a window stays within its axis', () => {
  const all = { start: 0, length: 100 };
  const half = zoomed(all, 0.5, 0, 100);
  assert.deepEqual(half, { start: 0, length: 50 });
  assert.deepEqual(zoomed(half, 4, 0.5, 100), all);
  assert.deepEqual(moved(half, 3, 100), { start: 50, length: 50 });
  assert.deepEqual(moved(half, -1, 100), half);
});
