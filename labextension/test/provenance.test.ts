import assert from 'node:assert/strict';
import { test } from 'node:test';

import { chainLines, markedFunction, NAME_COLUMNS } from '../src/provenance/segments.ts';

test('source is cut at its marks, side effects around names', () => {
  const at = (column: number, end: number): object => ({
    line: 1,
    column,
    end_line: 1,
    end_column: end
  });
  const rest = { detail: '', bytes: 0 };
  const map = {
    name: '<module>',
    file: 'x',
    first_line: 1,
    source_line: 1,
    source: ['print(h) + k'],
    marks: [
      { kind: 'effect', code: 'print(h)', ...at(0, 8), ...rest, is_name: false },
      { kind: 'traced', code: 'h', ...at(6, 7), ...rest, is_name: true },
      { kind: 'static', code: 'k', ...at(11, 12), ...rest, is_name: true }
    ],
    names: [],
    loops: []
  } as unknown as Parameters<typeof markedFunction>[0];
  const [line] = markedFunction(map).lines;
  assert.deepEqual(
    line?.segments.map(one => [one.text, one.mark?.label, one.inner.map(inner => inner.text)]),
    [
      ['print(h)', '!', ['print(', 'h', ')']],
      [' + ', undefined, []],
      ['k', 'S', []]
    ]
  );
});

test('a chain numbers the lines that a value came by', () => {
  const chain = [
    { name: 'h', detail: '', line: 3, code: '' },
    { name: 'x', detail: '', line: 0, code: '' }
  ];
  const fact = { line: 5, chain } as unknown as Parameters<typeof chainLines>[0];
  assert.deepEqual([...chainLines(fact)], [
    [5, 0],
    [3, 1]
  ]);
});

test('a name comes by the nearest way from one argument, and from others', () => {
  const column = NAME_COLUMNS.find(one => one.title === 'Comes from');
  const chain = ['h', 'x'].map(name => ({ name, detail: '', line: 0, code: '' }));
  const origin = (more: object): string | undefined =>
    column?.text({ chain, depends_on: ['x'], is_argument: false, ...more } as never);
  assert.equal(origin({}), 'h ← x');
  assert.equal(origin({ depends_on: ['w', 'x', 'b'] }), 'h ← x, and w, b');
  const many = ['x', ...'abcdefgi'];
  assert.equal(origin({ depends_on: many }), 'h ← x, and a, b, c, d, e, f, 2 more');
  assert.equal(origin({ is_argument: true }), 'argument');
});
