import assert from 'node:assert/strict';
import { test } from 'node:test';

import { lineCosts } from '../src/programs/heat.ts';
import type { LineCostPayload } from '../src/protocol.ts';

const line = (number: number, flops: number, device_ns = 0): LineCostPayload => ({
  file: 'f',
  line: number,
  flops,
  bytes: 8,
  device_ns
});

test('the costliest line is the hottest: by its time, or by operations where it has none', () => {
  const estimated = lineCosts([line(1, 4_000), line(2, 1_000)]);
  assert.deepEqual(estimated.get('f:1'), { text: '4 kflop · 8 B', heat: 1 });
  assert.equal(estimated.get('f:2')?.heat, 0.25);

  const measured = lineCosts([line(1, 4_000), line(2, 1_000, 5_000), line(3, 4_000, 500)]);
  assert.deepEqual(measured.get('f:2'), { text: '5 µs · 1 kflop · 8 B', heat: 1 });
  assert.equal(measured.get('f:1')?.heat, 1);
  assert.equal(measured.get('f:3')?.heat, 0.1);
  assert.equal(lineCosts([]).size, 0);
});
