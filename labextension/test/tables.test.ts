import assert from 'node:assert/strict';
import { test } from 'node:test';

import { columns, filtered, heading, kindOf, timelineTitle, totals } from '../src/ledger/builds.ts';
import { figure } from '../src/ledger/figure.ts';
import { columnsOf } from '../src/memory/tables.ts';
import type { LedgerRowPayload, Reason, SlicePayload } from '../src/protocol.ts';
import { chainLines, markedFunction } from '../src/provenance/segments.ts';
import { fitting } from '../src/shared/fitting.ts';
import { matching, quantity, searched, sorted, written } from '../src/shared/sorting.ts';
import { bytes, duration } from '../src/shared/texts.ts';
import { drawnTimeline, moved, zoomed } from '../src/timeline/lanes.ts';

function build(number: number, more: Partial<LedgerRowPayload> = {}): LedgerRowPayload {
  const times = { trace_ns: 1e6, lower_ns: 2e6, compile_ns: 7e6, total_ns: 1e7, cost_ns: 1e7 };
  const cell = { cell: 'In[1]', fun: 'f', function_id: 1, site: 'Cell In[1], line 1' };
  const disk = { from_disk: false, disk: '' as const, saved_ns: 0 };
  const rest = { cache: 'trace' as const, reasons: [], eqns: 3, slow: '', stored: 0, unrolled: true };
  const ends = { error: null, storm: '' };
  return { number, when: 1e9 + number, ...times, ...cell, ...disk, ...rest, ...ends, why: '', fix: '', ...more };
}

function reason(kind: Reason['kind']): Reason {
  return { kind, what: 'x', before: 'f32[8]', after: 'f32[16]', fix: 'pad x' };
}

const ROWS = [
  build(1, { reasons: [reason('first_call')], why: 'first call of f' }),
  build(2, { reasons: [reason('shape')], why: 'x: f32[8] → f32[16]', cost_ns: 3e7 }),
  build(3, { fun: 'g', cell: null, error: 'TypeError: no', cost_ns: 5e6 })
];

test('what has no room is left out, minor columns first', () => {
  const titles = (room: number): string[] =>
    fitting(columns(ROWS), room).shown.map(index => columns(ROWS)[index]?.title ?? '');
  assert.deepEqual(titles(200).slice(0, 3), ['#', 'Time', 'Cell']);
  assert.deepEqual(titles(95), ['#', 'Time', 'Cell', 'Function', 'Why', 'Cost']);
  assert.deepEqual(titles(57), ['Function', 'Why', 'Cost']);
  assert.ok(fitting(columns(ROWS), 57).least <= 57);
  assert.match(fitting(columns(ROWS), 57).template, /minmax\(2\dch, 1fr\)/);
  assert.match(fitting(columns(ROWS), 20).template, /minmax\(10ch, 1fr\)/);
});

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

test('rows are searched by all words, and sorted by number and text', () => {
  const ofRows = columns(ROWS);
  const cost = ofRows.findIndex(one => one.title === 'Cost');
  const all = ROWS.map((_, index) => index);
  assert.deepEqual(sorted(ROWS, all, ofRows, { column: cost, isDown: true }), [1, 0, 2]);
  assert.deepEqual(sorted(ROWS, all, ofRows, { column: cost, isDown: false }), [2, 0, 1]);
  assert.deepEqual(sorted(ROWS, all, ofRows, null), all);
  assert.deepEqual(matching(searched(ROWS, ofRows), 'F32 16'), [1]);
  assert.equal(written(ROWS, ofRows).split('\n').length, 4);
});

test('why a build was made stands before the stages, which a narrow page cuts off', () => {
  const name = 'a_function_with_a_rather_long_name_for_training';
  const ofRows = columns([...ROWS, build(4, { fun: name })]);
  const titles = ofRows.map(one => one.title);
  assert.deepEqual(titles.slice(-3), ['Trace', 'Lower', 'Compile']);
  const shown = ofRows.slice(0, -3);
  const gaps = 2 * shown.length;
  // 97 characters have room at 900 pixels; the one of what is left takes at least 28.
  assert.ok(shown.reduce((sum, one) => sum + (one.width || 28), gaps) <= 98);
  assert.equal(ofRows[titles.indexOf('Function')]?.most, 40);
});

test('100,000 rows are searched and sorted', () => {
  const rows = Array.from({ length: 100_000 }, (_, index) =>
    build(index, { cost_ns: (index * 7919) % 100_000 })
  );
  const ofRows = columns(rows);
  const all = rows.map((_, index) => index);
  const column = ofRows.findIndex(one => one.title === 'Cost');
  const found = sorted(rows, all, ofRows, { column, isDown: true });
  assert.equal(rows[found[0] ?? -1]?.cost_ns, 99_999);
  assert.equal(matching(searched(rows, ofRows), 'f').length, 100_000);
});

test('the ledger counts what was built again', () => {
  const data = {
    rows: ROWS,
    left_out: 0,
    dropped: 0,
    token: '',
    timeline: { lanes: [], bars: [], breaks: [], start: 0, seconds: 0 }
  };
  const bar = { row: 2, lane: 'f', stage: 'trace', start: 0, seconds: 1, fun: 'f', cell: '' };
  const timeline = { ...data.timeline, bars: [bar] };
  assert.equal(timelineTitle({ ...data, timeline }), 'Timeline from build 2 on');
  assert.equal(timelineTitle({ ...data, timeline, rows: ROWS.slice(1) }), 'Timeline');
  assert.equal(heading(data), '3 builds · 45 ms · 1 again');
  assert.deepEqual(
    filtered(ROWS, 'again').map(one => one.number),
    [2]
  );
  assert.deepEqual(ROWS.map(kindOf), ['', '', 'failed']);
  assert.deepEqual(totals(ROWS, 'function'), [
    { label: 'f', builds: 2, again: 1, cost: 4e7 },
    { label: 'g', builds: 1, again: 0, cost: 5e6 }
  ]);
  assert.deepEqual(
    totals(ROWS, 'reason').map(one => one.label),
    ['shape', 'first call', 'not traced']
  );
});

test('the figure has a trace for each stage and the lanes from the top', () => {
  const bar = { row: 1, lane: 'f', stage: 'trace', start: 0, seconds: 1, fun: 'f', cell: 'In[1]' };
  const timeline = { lanes: ['f', 'g'], bars: [bar], breaks: [], start: 0, seconds: 1 };
  const made = figure(timeline, { text: 'black', line: 'grey', stages: { trace: 'blue' } });
  const data = made.data as { name: string; y: string[] }[];
  assert.deepEqual(
    data.map(one => [one.name, one.y]),
    [
      ['trace', ['f']],
      ['lower', []],
      ['compile', []]
    ]
  );
  const layout = made.layout as { yaxis: { categoryarray: string[] } };
  assert.deepEqual(layout.yaxis.categoryarray, ['g', 'f']);
});

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

function slice(start_ns: number, duration_ns: number): SlicePayload {
  return { name: 'dot', hue: 0, start_ns, duration_ns, program: '', origin: '', spots: [] };
}

test('idle time is taken out of the axis, and what overlaps has rows of its own', () => {
  const slices = [slice(0, 100), slice(50, 20), slice(1_000_000, 100)];
  const drawn = drawnTimeline([{ name: 'cpu:0', kind: 'device', count: 5, slices }]);
  const [lane] = drawn.lanes;
  assert.deepEqual(
    lane?.slices.map(one => [one.row, one.start]),
    [
      [0, 0],
      [1, 50],
      [0, 106]
    ]
  );
  assert.deepEqual([lane?.rows, lane?.more, drawn.length], [2, 2, 206]);
  assert.deepEqual(drawn.cuts, [{ at: 103, idle: 999_900 }]);
  assert.deepEqual(drawnTimeline([]).length, 0);
});

test('a window stays within its axis', () => {
  const all = { start: 0, length: 100 };
  const half = zoomed(all, 0.5, 0, 100);
  assert.deepEqual(half, { start: 0, length: 50 });
  assert.deepEqual(zoomed(half, 4, 0.5, 100), all);
  assert.deepEqual(moved(half, 3, 100), { start: 50, length: 50 });
  assert.deepEqual(moved(half, -1, 100), half);
});

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
