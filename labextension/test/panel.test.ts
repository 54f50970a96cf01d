import assert from 'node:assert/strict';
import { test } from 'node:test';

import { BackendModel } from '../src/panel/backend.ts';
import { changeOf, isCount, offers, unchanged } from '../src/panel/choice.ts';
import { Feed, Pace } from '../src/panel/feed.ts';
import {
  bySize,
  cellPlace,
  fits,
  functionLine,
  heldBy,
  ledgerSummary,
  releaseQuestion,
  shortPlace,
  stagesOf,
  storms
} from '../src/panel/texts.ts';
import type {
  BackendAnswer,
  LedgerRowPayload,
  LedgerTotal,
  LiveRow,
  PreviewAnswer
} from '../src/protocol.ts';
import { DEFAULTS, valuesOf } from '../src/settings/values.ts';
import { bytes, counted, duration } from '../src/shared/texts.ts';

const tick = async (): Promise<void> => {
  await new Promise(resolve => setImmediate(resolve));
};

const state: BackendAnswer = {
  device: 'cpu:0',
  is_chosen: false,
  cpu_devices: 2,
  x64: false,
  precision: 'default',
  platforms: [
    { name: 'cpu', status: 'running', plugin: '', devices: [] },
    { name: 'cuda', status: 'not started', plugin: 'jax-cuda12-plugin', devices: [] },
    { name: 'rocm', status: 'no driver', plugin: 'jax-rocm60-plugin', devices: [] }
  ],
  group: '',
  is_started: true,
  precisions: ['default', 'highest'],
  most_cpu_devices: 64,
  largest: {},
  text: ''
};

const preview: PreviewAnswer = {
  steps: [{ what: '64-bit dtypes', before: 'off', after: 'on' }],
  moves: [],
  stays: [],
  retraced: [],
  notes: [],
  restart: [],
  changes: true,
  asks: false,
  text: '64-bit dtypes: off → on'
};

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

const array = (names: string[], bytes: number): LiveRow => ({
  type: 'f32[2]',
  bytes,
  devices: ['cpu:0'],
  names,
  outputs: [4],
  holders: [],
  deleted: false,
  roots: names
});

test('times and sizes have three figures and a fitting unit', () => {
  const shown = [999, 1_500, 31_441_000, 2.5e9, 5e12].map(one => duration(one));
  assert.deepEqual(shown, ['999 ns', '1.5 µs', '31.4 ms', '2.5 s', '5000 s']);
  assert.equal(duration(999_700), '1 ms');
  assert.equal(bytes(7_840_000), '7.84 MB');
  assert.equal(bytes(0), '0 B');
  assert.equal(counted(1, 'build'), '1 build');
  assert.equal(counted(1200, 'build'), '1,200 builds');
});

test('cells are found in texts, and files are not taken for cells', () => {
  assert.deepEqual(cellPlace('Cell In[3], line 2'), { label: 'In[3]', number: 3, line: 2 });
  assert.deepEqual(cellPlace('In[12]'), { label: 'In[12]', number: 12, line: 0 });
  assert.equal(cellPlace('/home/me/In[3].py:2'), null);
  assert.equal(cellPlace('outside cells'), null);
  assert.equal(cellPlace(null), null);
  assert.equal(shortPlace('Cell In[3], line 2'), 'In[3]:2');
  assert.equal(shortPlace('/home/me/project/model.py:7'), 'project/model.py:7');
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

test('functions and arrays are told in lines', () => {
  const known = { name: 'f', function_id: 1, file: '', line: 0, latest: '' };
  assert.equal(
    functionLine({ ...known, kept: 1, builds: 0, avoidable: 0, cost_ns: 0 }),
    '1 trace kept'
  );
  assert.equal(
    functionLine({ ...known, kept: 2, builds: 3, avoidable: 2, cost_ns: 1e6 }),
    '2 traces kept · 3 builds (2 again) · 1 ms'
  );
  assert.deepEqual(heldBy(array(['x'], 8)), ['x', 'Out[4]']);
  const { large, small } = bySize([array(['x'], 5000), array(['y'], 8)], 1);
  assert.deepEqual([large.length, small.length], [1, 1]);
  assert.equal(fits('F In[3]', 'f', 'In[3]'), true);
  assert.equal(fits('h', 'f', null), false);
});

test('the question before a release says who else loses the arrays', () => {
  const freeing = { names: ['params'], arrays: 2, bytes: 8000, also: ['alias'] };
  const question = releaseQuestion(freeing);
  assert.match(question, /2 arrays \(8 KB\) held by params/);
  assert.match(question, /Also held by alias/);
  assert.doesNotMatch(releaseQuestion({ ...freeing, also: [] }), /Also/);
});

test('a choice is told as what differs, and devices follow the number chosen', () => {
  const choice = unchanged(state);
  assert.equal(choice.device, 'auto');
  assert.equal(changeOf(choice, state), null);
  assert.deepEqual(changeOf({ ...choice, x64: true, cpu_devices: 4 }, state), {
    cpu_devices: 4,
    x64: true
  });
  const offered = offers({ ...choice, cpu_devices: 3 }, state);
  assert.deepEqual(
    offered.map(one => one.value),
    ['auto', 'cpu:0', 'cpu:1', 'cpu:2', 'cuda', 'rocm']
  );
  assert.deepEqual(
    offered.filter(one => one.isDisabled).map(one => one.label),
    ['rocm: no driver']
  );
  const gone = offers({ ...choice, device: 'cpu:5' }, state).at(-1);
  assert.deepEqual([gone?.value, gone?.isDisabled], ['cpu:5', true]);
  assert.deepEqual([1, 64, 0, 65, 1.5].map(one => isCount(one, state)), [
    true,
    true,
    false,
    false,
    false
  ]);
});

test('settings that are missing or of another type are the usual ones', () => {
  assert.deepEqual(valuesOf({}), DEFAULTS);
  const values = valuesOf({ marks: false, panelRefresh: -1, stormBuilds: 'many', slowBuild: 3 });
  assert.equal(values.marks, false);
  assert.equal(values.panelRefresh, DEFAULTS.panelRefresh);
  assert.equal(values.stormBuilds, DEFAULTS.stormBuilds);
  assert.equal(values.slowBuild, 3);
});

test('a feed asks one question at a time, and once more where it was asked meanwhile', async () => {
  const answers: ((value: number) => void)[] = [];
  const feed = new Feed<number>(
    () => new Promise(resolve => answers.push(resolve)),
    () => undefined
  );
  assert.equal(feed.isStale, true);
  void feed.refresh();
  void feed.refresh();
  void feed.refresh();
  assert.deepEqual([answers.length, feed.isAsking], [1, true]);
  answers[0]?.(1);
  await tick();
  assert.deepEqual([answers.length, feed.answer], [2, 1]);
  answers[1]?.(2);
  await tick();
  assert.deepEqual([feed.answer, feed.isAsking, feed.isStale], [2, false, false]);
});

test('a feed that was cleared takes no answer of the kernel before', async () => {
  const answers: ((value: number) => void)[] = [];
  const feed = new Feed<number>(
    () => new Promise(resolve => answers.push(resolve)),
    () => undefined
  );
  void feed.refresh();
  feed.clear();
  void feed.refresh();
  answers[0]?.(1);
  await tick();
  assert.deepEqual([feed.answer, feed.isAsking], [null, true]);
  answers[1]?.(2);
  await tick();
  assert.equal(feed.answer, 2);
});

test('a feed keeps the answer and says why there is no newer one', async () => {
  let fails = false;
  const feed = new Feed<number>(
    () => (fails ? Promise.reject(new Error('gone')) : Promise.resolve(1)),
    () => undefined
  );
  await feed.refresh();
  fails = true;
  await feed.refresh();
  assert.deepEqual([feed.answer, feed.error], [1, 'gone']);
  fails = false;
  await feed.refresh();
  assert.equal(feed.error, '');
});

test('a pace calls once for many requests, and not where it was cancelled', t => {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'] });
  let calls = 0;
  const pace = new Pace(() => (calls += 1));
  pace.request(1000);
  pace.request(1000);
  t.mock.timers.tick(0);
  assert.equal(calls, 1);
  pace.request(1000);
  t.mock.timers.tick(999);
  assert.equal(calls, 1);
  t.mock.timers.tick(1);
  assert.equal(calls, 2);
  pace.request(1000);
  pace.cancel();
  t.mock.timers.tick(5000);
  assert.equal(calls, 2);
});

/** A form over a kernel that says what is given. */
function form(
  answers: Partial<Record<'preview' | 'apply', () => Promise<PreviewAnswer>>> = {},
  backend: () => BackendAnswer = () => state
): { readonly model: BackendModel; readonly asked: [string, unknown][] } {
  const asked: [string, unknown][] = [];
  const ask = async (name: string, arguments_: unknown): Promise<unknown> => {
    asked.push([name, arguments_]);
    if (name === 'backend') {
      return backend();
    }
    return (answers[name as 'preview'] ?? (() => Promise.resolve(preview)))();
  };
  return { model: new BackendModel(ask as never, () => undefined), asked };
}

test('a choice is previewed before it can be applied, and forgotten after it was', async () => {
  let now = state;
  const { model, asked } = form({}, () => now);
  assert.equal(model.choice, null);
  await model.state.refresh();
  assert.equal(model.change, null);
  model.choose({ x64: true });
  assert.equal(model.canApply, false);
  await model.apply();
  assert.deepEqual(asked.map(([name]) => name), ['backend']);
  await model.preview.refresh();
  assert.equal(model.canApply, true);
  now = { ...state, x64: true };
  await model.apply();
  assert.deepEqual(asked.at(-2), ['apply', { change: { x64: true } }]);
  assert.equal(model.change, null);
  assert.match(model.outcome?.text ?? '', /^Done/);
  model.dispose();
});

test('a change that needs a restart, makes no sense or is refused is not made', async () => {
  const restart = { ...preview, restart: ['Restart the kernel.'] };
  const { model } = form({ preview: () => Promise.resolve(restart) });
  await model.state.refresh();
  model.choose({ x64: true });
  await model.preview.refresh();
  assert.equal(model.canApply, false);
  model.choose({ cpu_devices: 0 });
  await model.preview.refresh();
  assert.match(model.preview.error, /1 to 64/);
  model.dispose();

  const refused = form({ apply: () => Promise.reject(new Error('it does not start')) }).model;
  await refused.state.refresh();
  refused.choose({ device: 'cuda' });
  await refused.preview.refresh();
  await refused.apply();
  assert.deepEqual(refused.outcome, { text: 'it does not start', isError: true });
  assert.equal(refused.choice?.device, 'cuda');
  refused.undo();
  assert.deepEqual([refused.change, refused.outcome], [null, null]);
  refused.dispose();
});

test('what code changes shows at once, and may be what was chosen', async () => {
  let now = state;
  const { model } = form({}, () => now);
  await model.state.refresh();
  model.choose({ x64: true });
  now = { ...state, x64: true, cpu_devices: 8 };
  await model.state.refresh();
  assert.equal(model.change, null);
  assert.equal(model.choice?.cpu_devices, 8);
  model.dispose();
});
