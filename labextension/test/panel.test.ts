import assert from 'node:assert/strict';
import { test } from 'node:test';

import { DEFAULTS, valuesOf } from '../src/settings/values.ts';
import { cellPlace, shortPlace } from '../src/shared/cellplace.ts';
import { Feed, Pace } from '../src/shared/feed.ts';

const tick = async (): Promise<void> => {
  await new Promise(resolve => setImmediate(resolve));
};

test('cells are found in texts, and files are not taken for cells', () => {
  assert.deepEqual(cellPlace('Cell In[3], line 2'), { label: 'In[3]', number: 3, line: 2 });
  assert.deepEqual(cellPlace('In[12]'), { label: 'In[12]', number: 12, line: 0 });
  assert.equal(cellPlace('/home/me/In[3].py:2'), null);
  assert.equal(cellPlace('outside cells'), null);
  assert.equal(cellPlace(null), null);
  assert.equal(shortPlace('Cell In[3], line 2'), 'In[3]:2');
  assert.equal(shortPlace('/home/me/project/model.py:7'), 'project/model.py:7');
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
