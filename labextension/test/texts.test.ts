import assert from 'node:assert/strict';
import { test } from 'node:test';

import { bytes, counted, duration, fits, flops, found } from '../src/shared/texts.ts';

test('times and sizes have three figures and a fitting unit', () => {
  const shown = [999, 1_500, 31_441_000, 2.5e9, 5e12].map(one => duration(one));
  assert.deepEqual(shown, ['999 ns', '1.5 µs', '31.4 ms', '2.5 s', '5000 s']);
  assert.equal(duration(999_700), '1 ms');
  assert.equal(bytes(7_840_000), '7.84 MB');
  assert.equal(bytes(0), '0 B');
  assert.equal(counted(1, 'build'), '1 build');
  assert.equal(counted(1200, 'build'), '1,200 builds');
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

test('a filter asks for all of its words', () => {
  assert.equal(fits('F In[3]', 'f', 'In[3]'), true);
  assert.equal(fits('h', 'f', null), false);
});
