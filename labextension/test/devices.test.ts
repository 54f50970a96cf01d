import assert from 'node:assert/strict';
import { test } from 'node:test';

import { BackendModel } from '../src/devices/backend.ts';
import { changeOf, isCount, offers, unchanged } from '../src/devices/choice.ts';
import type { BackendAnswer, PreviewAnswer } from '../src/protocol.ts';

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
