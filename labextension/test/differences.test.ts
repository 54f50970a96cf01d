import assert from 'node:assert/strict';
import { test } from 'node:test';

import { changedParts, changesIn, shownRows, sidesOf } from '../src/differences/rows.ts';

const diff = {
  format: 1,
  before: 'f(x)',
  after: 'f(y)',
  summary: '',
  left_out: 0,
  rows: [
    { same: 4 },
    { sign: '~' as const, depth: 1, before: 'a:f32[5] = sin b', after: 'a:f32[3] = sin b', line: 1 },
    { sign: '+' as const, depth: 0, before: '', after: 'c', line: 2 },
    { sign: '=' as const, depth: 0, before: 'd', after: 'd', line: 2 },
    { sign: '-' as const, depth: 0, before: 'e', after: '', line: 2 }
  ]
};

test('changes are found run by run, and can be shown alone', () => {
  assert.deepEqual(changesIn(diff.rows), [1, 4]);
  assert.equal(shownRows(diff, true).length, 3);
  assert.equal(shownRows(diff, false).length, 5);
});

test('of a changed row both sides are shown, and what differs in them', () => {
  const [before, after] = changedParts('a:f32[5] = sin b', 'a:f32[3] = sin b');
  assert.deepEqual(before, { start: 'a:f32[', changed: '5', end: '] = sin b' });
  assert.equal(after.changed, '3');
  assert.equal(changedParts('a', 'a b')[1].changed, ' b');
  assert.deepEqual(sidesOf({ sign: '+', depth: 1, before: '', after: 'c', line: 0 }), {
    before: '',
    after: '  c'
  });
});
