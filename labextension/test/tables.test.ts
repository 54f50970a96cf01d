import assert from 'node:assert/strict';
import { test } from 'node:test';

import { quantity, sorted } from '../src/shared/sorting.ts';
import { columnsOf } from '../src/shared/tables.ts';
import { bytes, duration } from '../src/shared/texts.ts';

test('quantities are compared by what they amount to', () => {
  const texts = ['9 B', '1.5 KB', '2 MB', '31 ms', '4 s', '12 %', '1,200', 'x', '', '3 apples'];
  assert.deepEqual(texts.map(quantity), [9, 1500, 2e6, 3.1e7, 4e9, 12, 1200, 'x', '', '3 apples']);
});

const WRITTEN: [string, string][] = [
  [bytes(7), '7 B'],
  [bytes(3_200), '3.2 KB'],
  [bytes(7_840_000), '7.84 MB'],
  [bytes(999_700), '1 MB'],
  [bytes(11.1e12), '11100 GB'],
  [duration(412), '412 ns'],
  [duration(31.42e6), '31.4 ms'],
  [duration(1.36e9), '1.36 s'],
  [duration(4_000e9), '4000 s']
];

for (const [found, wanted] of WRITTEN) {
  test(`a quantity is written as ${wanted}`, () => assert.equal(found, wanted));
}

test('columns of texts are numeric where all of them are quantities', () => {
  const table = {
    title: '',
    head: ['held by', 'size', 'free'],
    rows: [
      ['x', '64 B', ''],
      ['y', '2 KB', '']
    ],
    count: 2
  };
  const found = columnsOf(table, ['size']);
  assert.deepEqual(
    found.map(one => [one.title, one.isNumeric, one.bar?.(table.rows[0] ?? [])]),
    [
      ['held by', false, undefined],
      ['size', false, 64 / 2000] // nothing is in the third
    ]
  );
  assert.deepEqual(
    sorted(table.rows, [0, 1], found, { column: 1, isDown: true }),
    [1, 0]
  );
});
