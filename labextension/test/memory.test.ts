import assert from 'node:assert/strict';
import { test } from 'node:test';

import { bySize, releaseQuestion } from '../src/memory/texts.ts';
import type { LiveRow } from '../src/protocol.ts';
import { heldBy } from '../src/shared/texts.ts';

const array = (names: string[], bytes: number): LiveRow => ({
  type: 'f32[2]',
  bytes,
  devices: ['cpu:0'],
  names,
  outputs: [4],
  holders: [],
  deleted: false,
  roots: names
});

test('arrays are told with all that hold them, and small ones apart', () => {
  assert.deepEqual(heldBy(array(['x'], 8)), ['x', 'Out[4]']);
  const { large, small } = bySize([array(['x'], 5000), array(['y'], 8)], 1);
  assert.deepEqual([large.length, small.length], [1, 1]);
});

test('the question before a release says who else loses the arrays', () => {
  const freeing = { names: ['params'], arrays: 2, bytes: 8000, also: ['alias'] };
  const question = releaseQuestion(freeing);
  assert.match(question, /2 arrays \(8 KB\) held by params/);
  assert.match(question, /Also held by alias/);
  assert.doesNotMatch(releaseQuestion({ ...freeing, also: [] }), /Also/);
});
