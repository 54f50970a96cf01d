import assert from 'node:assert/strict';
import { test } from 'node:test';

import { aligned } from '../src/provenance/align.ts';
import { ofFile } from '../src/provenance/files.ts';
import { assigned } from '../src/provenance/notebook.ts';
import type { IPlacedMark } from '../src/provenance/marks.ts';
import { afterEdit, marksAt, place, sourcesOf } from '../src/provenance/marks.ts';
import { explained, spoken } from '../src/provenance/explaining.ts';
import type { FunctionMapPayload, Mark, NameFact } from '../src/protocol.ts';

const SOURCE = ['h = x * w', 'k = n + 1', 'h'];

function mark(kind: Mark['kind'], code: string, line: number, column: number): Mark {
  const end = { end_line: line, end_column: column + code.length };
  return { kind, code, line, column, ...end, detail: 'f32[8]', bytes: 0, is_name: true };
}

function fact(name: string, more: Partial<NameFact> = {}): NameFact {
  const chain = [{ name: 'x', detail: 'f32[8]', line: 0, code: '' }];
  const at = { line: 2, code: 'h = x * w', bytes: 0, is_argument: false };
  const rest = { detail: 'f32[8]', chain, depends_on: ['x', 'w'], ...at, ...more };
  return { name, function: 'the cell', kind: 'traced', ...rest };
}

function map(more: Partial<FunctionMapPayload> = {}): FunctionMapPayload {
  const marks = [
    mark('traced', 'h', 2, 0),
    { ...mark('traced', 'x * w', 2, 4), is_name: false },
    mark('traced', 'x', 2, 4),
    mark('static', 'k', 3, 0),
    mark('traced', 'h', 4, 0)
  ];
  const names = [fact('h')];
  const place_ = { file: '<cell>', first_line: 1, source_line: 2 };
  return { name: '<module>', ...place_, source: SOURCE, names, marks, loops: [], ...more };
}

const texts = (marks: readonly IPlacedMark[], text: string): string[] =>
  marks
    .filter(one => one.isDrawn)
    .map(one => `${text.slice(one.from, one.to)}${one.isStale ? '?' : one.label}`);

function shown(text: string, functions = [map()]): string[] {
  return texts(place(sourcesOf(functions), text).marks, text);
}

const CELL = `%%jit\n${SOURCE.join('\n')}`;

test('lines are found below a magic and above new lines', () => {
  assert.deepEqual(aligned(SOURCE, ['%%jit', ...SOURCE, '', 'more']), [
    { index: 1, isEdited: false },
    { index: 2, isEdited: false },
    { index: 3, isEdited: false }
  ]);
});

const CHANGED: [string, string[], (string | null)[]][] = [
  ['a line put in between', ['a', 'new', 'b', 'c'], ['0', '2', '3']],
  ['a line edited', ['a', 'B', 'c'], ['0', '1?', '2']],
  ['a line taken out', ['a', 'c'], ['0', null, '1']],
  ['lines in another order', ['c', 'a', 'b'], ['1', '2', null]],
  ['another first line', ['A', 'b', 'c'], ['0?', '1', '2']],
  ['another last line', ['a', 'b', 'C'], ['0', '1', '2?']],
  ['nothing left', [''], [null, null, null]]
];

for (const [name, now, wanted] of CHANGED) {
  test(`alignment with ${name}`, () => {
    const found = aligned(['a', 'b', 'c'], now);
    assert.deepEqual(
      found.map(one => one && `${one.index}${one.isEdited ? '?' : ''}`),
      wanted
    );
  });
}

test('a block that stands twice is told apart by its neighbours', () => {
  const found = aligned(['a', 'b', 'a', 'b', 'c'], ['a', 'b', 'a', 'b', 'c', 'a', 'b']);
  assert.deepEqual(
    found.map(one => one?.index),
    [0, 1, 2, 3, 4]
  );
});

test('very long texts are aligned at both ends', () => {
  const lines = Array.from({ length: 5_000 }, (_, line) => `x${line} = ${line}`);
  const now = [...lines.slice(0, 2_000), 'new', ...lines.slice(2_000)];
  const found = aligned(lines, now);
  assert.deepEqual([found[1_999]?.index, found[2_000]?.index], [1_999, 2_001]);
});

test('marks stand on the names of the lines that ran', () => {
  assert.deepEqual(shown(CELL), ['hT', 'xT', 'kS', 'hT']);
});

test('an edit makes the marks of its line stale, and takes those it touches', () => {
  assert.deepEqual(shown(CELL.replace('x * w', 'x * v')), ['h?', 'x?', 'kS', 'hT']);
  assert.deepEqual(shown(CELL.replace('x * w', 'xx * w')), ['h?', 'kS', 'hT']);
  assert.deepEqual(shown(CELL.replace('h = x', '  h = x')), ['h?', 'x?', 'kS', 'hT']);
  assert.deepEqual(shown(CELL.replace('k = n + 1\n', '')), ['hT', 'xT', 'hT']);
  assert.deepEqual(shown('something else'), []);
});

test('while one types, a mark of an edited line is stale until the line is as it ran', () => {
  const [h, x] = place(sourcesOf([map()]), CELL).marks.filter(one => one.isDrawn);
  assert.ok(h && x);
  const start = h.from;
  const edited = (line: string): (boolean | undefined)[] =>
    [h, x].map(one => afterEdit(one, line, start)?.isStale);
  assert.deepEqual(edited('h = x * w'), [false, false]);
  assert.deepEqual(edited('h = x * v'), [true, true]);
  assert.deepEqual(edited('h = xx * w'), [true, undefined]);
  const at = { ...x, from: x.from + 1, to: x.to + 1 };
  assert.equal(afterEdit(at, 'h =  x * w', start)?.isStale, true);
});

test('columns count characters as Python does', () => {
  const source = ["s = '😀😀' + q"];
  const marks = [mark('static', 'q', 2, 11)];
  const text = `%%jit\n${source[0] ?? ''}`;
  assert.deepEqual(shown(text, [map({ source, marks })]), ['qS']);
});

test('a constant has its size where there is room', () => {
  const source = ['y = table + w     * v'];
  const marks = [
    { ...mark('constant', 'table', 2, 4), bytes: 400 },
    { ...mark('constant', 'w', 2, 12), bytes: 4_000 },
    mark('traced', 'v', 2, 20)
  ];
  assert.deepEqual(shown(source.join('\n'), [map({ source, marks })]), [
    'tableC 400 B',
    'wC 4 KB',
    'vT'
  ]);
});

test('an unrolled loop is marked on its word', () => {
  const source = ['for i in range(3):', '    h = h + i'];
  const loops = [
    { line: 2, code: 'for', times: 3, equations: 3, instead: 'lax.fori_loop', rewrite: '' }
  ];
  assert.deepEqual(shown(source.join('\n'), [map({ source, loops, marks: [] })]), ['for↻']);
});

test('a mark explains itself, and the expressions around it', () => {
  const { marks } = place(sourcesOf([map()]), CELL);
  const at = CELL.indexOf('x * w');
  assert.deepEqual(
    marksAt(marks, at).map(one => one.mark.code),
    ['x', 'x * w']
  );
  const [h] = marksAt(marks, CELL.length);
  assert.ok(h);
  assert.equal(
    spoken(explained(h)),
    [
      'T h: traced, f32[8]',
      'last bound: h = x * w    (line 2)',
      '← x: f32[8], argument',
      'depends on the arguments x, w'
    ].join('\n')
  );
});

const output = (functions: FunctionMapPayload[]): Record<string, unknown> => ({
  'application/vnd.jxkernel.jit+json': { format: 1, provenance: { legend: '', functions } }
});

test('functions of other cells are marked where they stand', () => {
  const layer = map({ name: 'layer', file: '<other>', source: ['def layer(v):', '    return v'] });
  const cells = [
    { id: 'far', text: '\n\ndef layer(v):\n    return v', outputs: [], executionCount: 1 },
    { id: 'near', text: '\n\ndef layer(v):\n    return v', outputs: [], executionCount: 2 },
    { id: 'cell', text: CELL, outputs: [output([map(), layer])], executionCount: 3 }
  ];
  const found = assigned(cells);
  assert.deepEqual([...found.keys()].sort(), ['cell', 'near']);
  assert.equal(found.get('near')?.[0]?.file, '<other>');
});

test('data of a newer format, or without its fields, marks nothing', () => {
  const newer = { 'application/vnd.jxkernel.jit+json': { format: 99, provenance: {} } };
  const broken = output([{ name: '<module>', file: 'x' } as unknown as FunctionMapPayload]);
  const cells = [newer, broken, {}].map((one, index) => ({
    id: `${index}`,
    text: CELL,
    outputs: [one],
    executionCount: 1
  }));
  assert.equal(assigned(cells).size, 0);
});

test('marks of the latest run stand', () => {
  const second = map({ name: 'layer', file: '<other>', marks: [mark('static', 'h', 2, 0)] });
  const first = map({ name: 'layer', file: '<older>' });
  const cells = [
    { id: 'body', text: SOURCE.join('\n'), outputs: [], executionCount: 1 },
    { id: 'two', text: '%%jit', outputs: [output([map({ file: '2' }), second])], executionCount: 5 },
    { id: 'one', text: '%%jit', outputs: [output([map({ file: '1' }), first])], executionCount: 3 }
  ];
  const files = assigned(cells).get('body')?.map(one => one.file);
  assert.deepEqual(files, ['<other>']);
});

const F = ['@jax.jit', 'def f(x):', '    h = x * w', '    return h'];
const G = ['', 'def g(x):', '    k = x + 1', '    return k'];
const told = (name: string, source: string[], first: number, more: object = {}) => ({
  number: 1,
  count: 2,
  cell: 'a',
  ...more,
  function: map({
    name,
    file: '<one>',
    first_line: first,
    source_line: first,
    source,
    marks: [mark('traced', source[2]?.trim()[0] ?? '', first + 2, 4)]
  })
});

test('functions that the kernel tells of are marked in the cell that they stand in', () => {
  const cells = [
    { id: 'a', text: [...F, ...G].join('\n'), outputs: [], executionCount: 1 },
    { id: 'b', text: 'f(x)', outputs: [], executionCount: 2 }
  ];
  const found = assigned(cells, [told('f', F, 1), told('g', G, 5, { count: 3 })]);
  assert.deepEqual([...found.keys()], ['a']);
  const text = cells[0]?.text ?? '';
  assert.deepEqual(texts(place(found.get('a') ?? [], text).marks, text), ['hT', 'kT']);
});

test('functions of a cell that is not in the notebook are looked for by their lines', () => {
  const cells = [{ id: 'z', text: F.join('\n'), outputs: [], executionCount: null }];
  assert.deepEqual([...assigned(cells, [told('f', F, 1)]).keys()], ['z']);
  assert.deepEqual([...assigned(cells, [told('other', ['q = 1'], 1)]).keys()], []);
});

test('a file that is open has the functions that were traced of it, and no others', () => {
  const one = { ...told('f', F, 3), cell: '' };
  const of = (file: string) => [{ ...one, function: { ...one.function, file } }];
  const text = ['import jax', '', ...F].join('\n');
  assert.equal(ofFile('work/model.py', text, of('/home/me/work/model.py')).length, 1);
  assert.equal(ofFile('RTC:work/model.py', text, of('/home/me/work/model.py')).length, 1);
  assert.equal(ofFile('model.py', text, of('/home/me/other_model.py')).length, 0);
  assert.equal(ofFile('model.py', 'x = 1', of('/home/me/model.py')).length, 0);
});
