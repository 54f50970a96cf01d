/** Equations that come by columns. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { addColumns } from '../src/programs/columns.ts';
import { equation } from './programs.ts';

test('equations by columns are those that would come one by one', () => {
  const equations = [equation(1, 0)];
  addColumns(equations, {
    first: 2,
    depth: [0, 1],
    named: [true, false],
    text: ['y:f32[] = add x 1.0:f32[]', '_ = debug_callback'],
    primitive: ['add', 'debug_callback'],
    operands: ['x 1.0:f32[]', ''],
    results: ['y', ''],
    files: ['one.py', 'two.py'],
    file: [1, 0],
    line: [7, 0],
    flops: [1, 0],
    bytes: [8, 0]
  });
  assert.equal(equations.length, 3);
  assert.deepEqual(equations[1], {
    number: 2,
    depth: 0,
    named: true,
    text: 'y:f32[] = add x 1.0:f32[]',
    primitive: 'add',
    operands: ['x', '1.0:f32[]'],
    results: ['y'],
    file: 'two.py',
    line: 7,
    flops: 1,
    bytes: 8
  });
  assert.deepEqual(
    [equations[2]?.number, equations[2]?.file, equations[2]?.operands, equations[2]?.results],
    [3, 'one.py', [], []]
  );
});
