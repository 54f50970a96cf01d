import assert from 'node:assert/strict';
import { test } from 'node:test';

import { LinkedLines } from '../src/programs/linked.ts';
import { changedParts, changesIn, shownRows, sidesOf } from '../src/programs/differences.ts';
import { partsOf } from '../src/programs/parts.ts';
import { bytes, counted, flops, found } from '../src/shared/texts.ts';

const line = (text: string, number: number, file = 'cell') => ({ text, file, line: number });

test('lines are found by the source line that they came from, and no others', () => {
  const lines = new LinkedLines([line('a', 3), line('b', 0), line('c', 3), line('d', 3, 'other')]);
  assert.deepEqual(lines.of({ file: 'cell', line: 3 }), [0, 2]);
  assert.deepEqual(lines.of({ file: 'cell', line: 0 }), []);
  assert.deepEqual(lines.of(null), []);
  assert.deepEqual(lines.matching(' C '), [2]);
  assert.deepEqual(lines.matching(' '), []);
});

test('an equation is split into names, types and primitive', () => {
  const parts = partsOf('h:f32[8] s:f32[] = scan[length=3] a:b 1.0:f32[]');
  assert.deepEqual(
    parts.map(one => one.text).join(''),
    'h:f32[8] s:f32[] = scan[length=3] a:b 1.0:f32[]'
  );
  assert.deepEqual(
    parts.filter(one => one.kind === 'name').map(one => one.text),
    ['h', 's']
  );
  assert.equal(parts.find(one => one.kind === 'primitive')?.text, 'scan');
  assert.deepEqual(partsOf('no equation'), [{ kind: 'text', text: 'no equation' }]);
});

test('what is searched for is marked wherever it stands, in any case', () => {
  assert.deepEqual(
    found('Sin sin x', 'sin').map(one => (one.isFound ? `<${one.text}>` : one.text)),
    ['<Sin>', ' ', '<sin>', ' x']
  );
  assert.deepEqual(found('<b>', ''), [{ text: '<b>', isFound: false }]);
});

test('numbers are written with their units', () => {
  assert.equal(flops(1_160), '1.16 kflop');
  assert.equal(flops(3), '3 flop');
  assert.equal(bytes(6_308), '6.31 KB');
  assert.equal(counted(1, 'line'), '1 line');
  assert.equal(counted(2_000, 'line'), '2,000 lines');
});

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
