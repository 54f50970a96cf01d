import assert from 'node:assert/strict';
import { test } from 'node:test';

import { inputsOf, timesOf, warningOf } from '../src/jit/rows.ts';
import { duration } from '../src/shared/texts.ts';

test('times are written with three digits, and stages that took none are left out', () => {
  assert.equal(duration(1_234_567), '1.23 ms');
  assert.equal(duration(999), '999 ns');
  assert.deepEqual(timesOf({ times_ns: { trace: 2e6, lower: 0, compile: 3.1e7, run: null } }), [
    ['trace', '2 ms'],
    ['compile', '31 ms']
  ]);
});

test('inputs are told by letter and word, not by colour', () => {
  assert.deepEqual(inputsOf({ traced: { x: 'f32[8]' }, static: { n: '3' } }), [
    ['x', 'T traced', 'f32[8]'],
    ['n', 'S static', '3']
  ]);
});

test('a warning is a sentence and the code that it gives, with no indent of its own', () => {
  assert.deepEqual(warningOf('look'), { sentence: 'look', code: '' });
  assert.deepEqual(warningOf('look\n    if a:\n        b'), {
    sentence: 'look',
    code: 'if a:\n    b'
  });
});
