import assert from 'node:assert/strict';
import { test } from 'node:test';

import { columns, filtered, heading, kindOf, timelineTitle, totals } from '../src/ledger/builds.ts';
import { figure } from '../src/ledger/figure.ts';
import { functionLine, ledgerSummary, stagesOf, storms } from '../src/ledger/texts.ts';
import type { LedgerRowPayload, LedgerTotal, Reason } from '../src/protocol.ts';
import { fitting } from '../src/shared/fitting.ts';
import { matching, searched, sorted, written } from '../src/shared/sorting.ts';

function build(number: number, more: Partial<LedgerRowPayload> = {}): LedgerRowPayload {
  const times = { trace_ns: 1e6, lower_ns: 2e6, compile_ns: 7e6, total_ns: 1e7, cost_ns: 1e7 };
  const cell = { cell: 'In[1]', fun: 'f', function_id: 1, site: 'Cell In[1], line 1' };
  const disk = { from_disk: false, disk: '' as const, saved_ns: 0 };
  const rest = { cache: 'trace' as const, reasons: [], eqns: 3, slow: '', stored: 0, unrolled: true, divided: true, kernel_loops: true };
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

const row: LedgerRowPayload = {
  number: 1,
  when: 0,
  cell: 'In[3]',
  fun: 'f',
  function_id: 1,
  cache: 'trace',
  reasons: [],
  eqns: 3,
  trace_ns: 1_500,
  lower_ns: 0,
  compile_ns: 31_400_000,
  from_disk: false,
  disk: '',
  saved_ns: 0,
  site: '',
  slow: '',
  stored: 0,
  unrolled: true,
  divided: true,
  kernel_loops: true,
  error: null,
  total_ns: 0,
  storm: '',
  why: '',
  fix: 'pad it',
  cost_ns: 31_401_500
};

const total = (label: string, builds: number, avoidable: number): LedgerTotal => ({
  label,
  builds,
  avoidable,
  traces: builds,
  compiles: builds,
  from_disk: 0,
  cost_ns: builds * 1e6
});

test('the ledger is summed up, and storms are told with their fix', () => {
  const by_function = [total('f', 7, 6), total('g', 2, 1)];
  assert.equal(ledgerSummary({ by_function }), '9 builds · 9 ms · 7 again');
  assert.deepEqual(
    storms({ by_function, rows: [row] }, 5).map(one => [one.fun, one.fix]),
    [['f', 'pad it']]
  );
  assert.equal(storms({ by_function, rows: [] }, 0).length, 0);
  assert.equal(stagesOf(row), 'trace 1.5 µs · compile 31.4 ms');
  assert.equal(stagesOf({ ...row, from_disk: true }), 'trace 1.5 µs · from disk 31.4 ms');
});

test('functions are told in lines', () => {
  const known = { name: 'f', function_id: 1, file: '', line: 0, latest: '' };
  assert.equal(
    functionLine({ ...known, kept: 1, builds: 0, avoidable: 0, cost_ns: 0 }),
    '1 trace kept'
  );
  assert.equal(
    functionLine({ ...known, kept: 2, builds: 3, avoidable: 2, cost_ns: 1e6 }),
    '2 traces kept · 3 builds (2 again) · 1 ms'
  );
});
