import assert from 'node:assert/strict';
import { test } from 'node:test';

import { EventLog } from '../src/kernel/events.ts';
import type { Status, WireEvent } from '../src/protocol.ts';
import { statusWords } from '../src/status/texts.ts';

const status: Status = {
  type: 'status',
  version: 1,
  package: '0.1',
  platform: 'cpu',
  device: 'cpu:0',
  devices: [{ name: 'cpu:0', kind: 'cpu' }],
  x64: false,
  recording: true,
  precision: 'default',
  teaching: false,
  marked: 0
};
const session = { status, work: null, isNewer: false, dropped: 0 };

test('nothing is said where the extension is not loaded', () => {
  assert.equal(statusWords(null, 0), null);
  assert.equal(statusWords({ ...session, status: null }, 3), null);
});

test('the device, work under way and waiting cells are told', () => {
  assert.equal(statusWords(session, 0)?.text, 'jx cpu:0');
  const work = { stage: 'compiling', fun: 'f', eqns: 1_200, elapsed_ns: 3.9e9 };
  const words = statusWords({ ...session, work }, 2);
  assert.equal(words?.text, 'jx cpu:0 · compiling f · 1,200 eqns · 3 s · 2 queued');
  assert.equal(words?.isWorking, true);
  assert.match(words?.title ?? '', /2 cells wait for the kernel/);
});

test('what cannot be known is not guessed', () => {
  assert.match(statusWords({ ...session, isNewer: true }, 0)?.text ?? '', /newer kernel/);
  const fresh = { ...status, device: '', platform: '', devices: [] };
  assert.equal(statusWords({ ...session, status: fresh }, 0)?.text, 'jx not started');
  assert.match(statusWords({ ...session, dropped: 7 }, 0)?.title ?? '', /7 events came too fast/);
});

const event = (span: number): WireEvent => ({ span }) as WireEvent;

test('events are kept once each, the latest of them, and those left out are counted', () => {
  const log = new EventLog(3);
  log.replace([event(1), event(2)], 10);
  log.add([event(2), event(3), event(4)]);
  assert.deepEqual(
    log.events.map(one => one.span),
    [2, 3, 4]
  );
  assert.equal(log.leftOut, 11);
  log.replace([], 0);
  assert.deepEqual([log.events.length, log.leftOut], [0, 0]);
});
