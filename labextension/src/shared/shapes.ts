/**
 * Whether data is what it says: what comes from a file or a kernel may be anything.
 *
 * Fields that are not known are let through, for a newer jxkernel may have added them.
 */

import type { FromKernel, Payloads } from '../protocol';
import { MESSAGE_RECORDS, PAYLOAD_RECORDS, SHAPES } from '../protocol';

type Check = (data: unknown) => boolean;

/** Whether data is the data of a kind of view. */
export function isPayload<K extends keyof Payloads>(kind: K, data: unknown): data is Payloads[K] {
  const record = own(PAYLOAD_RECORDS, kind);
  return record !== undefined && checkOf(record)(data);
}

/** Whether data is a message of the kernel's, of the version that this code knows. */
export function isMessage(data: unknown): data is FromKernel {
  const type = isObject(data) && typeof data.type === 'string' ? data.type : '';
  const record = own(MESSAGE_RECORDS, type);
  return record !== undefined && checkOf(record)(data);
}

/** Whether data has what every event has; its kind may be one that is not known. */
export function isEvent(data: unknown): boolean {
  return isObject(data) && typeof data.kind === 'string' && checkOf('Event')(data);
}

/** Whether data is an object with names, and no list. */
export function isObject(data: unknown): data is Record<string, unknown> {
  return typeof data === 'object' && data !== null && !Array.isArray(data);
}

const checks = new Map<string, Check>();

/** The check of a record or a scalar, made once. */
function checkOf(name: string): Check {
  const known = checks.get(name);
  if (known) {
    return known;
  }
  const shape = own(SHAPES, name);
  const check = shape === undefined ? SCALARS[name] : record(shape as Record<string, unknown>);
  if (!check) {
    throw new Error(`no shape is named ${name}`);
  }
  checks.set(name, check);
  return check;
}

const SCALARS: Readonly<Record<string, Check>> = {
  number: data => typeof data === 'number',
  string: data => typeof data === 'string',
  boolean: data => typeof data === 'boolean',
  null: data => data === null,
  unknown: () => true
};

function record(fields: Record<string, unknown>): Check {
  const inside = Object.entries(fields).map(([name, shape]) => [name, made(shape)] as const);
  return data => isObject(data) && inside.every(([name, check]) => check(own(data, name)));
}

function made(shape: unknown): Check {
  if (typeof shape === 'string') {
    return checkOf(shape);
  }
  if (Array.isArray(shape)) {
    const item = made(shape[0]);
    return data => Array.isArray(data) && data.every(item);
  }
  const { is, either, tuple, values } = shape as Readonly<Record<string, unknown[] | undefined>>;
  if (is) {
    return data => is.includes(data);
  }
  if (either) {
    const some = either.map(made);
    return data => some.some(check => check(data));
  }
  if (tuple) {
    const items = tuple.map(made);
    return data =>
      Array.isArray(data) &&
      data.length === items.length &&
      items.every((check, place) => check(data[place]));
  }
  const value = made(values);
  return data => isObject(data) && Object.values(data).every(value);
}

function own<T>(object: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}
