import assert from 'node:assert/strict';
import { test } from 'node:test';

import { LinkedLines } from '../src/programs/linked.ts';
import { partsOf } from '../src/programs/parts.ts';

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
