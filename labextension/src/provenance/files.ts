/**
 * The marks of files that are open beside a notebook: functions that it imports and traces.
 */

import type { MarkedPayload } from '../protocol.ts';
import { likeness } from './align.ts';
import type { IMarkedSource } from './marks.ts';
import { sourcesOf } from './marks.ts';
import { isWhole } from './notebook.ts';

/** A file that was edited so much is taken for another one. */
const ENOUGH = 0.6;

/**
 * What ran of a file.
 *
 * @param path - as the front end knows it: below a folder that the kernel knows by another name.
 */
export function ofFile(
  path: string,
  text: string,
  told: readonly MarkedPayload[]
): IMarkedSource[] {
  const own = `/${path.slice(path.indexOf(':') + 1).replace(/^\/+/, '')}`;
  const functions = told
    .map(one => one.function)
    .filter(one => isWhole(one) && `/${one.file.replace(/\\/g, '/')}`.endsWith(own));
  const lines = text.split('\n');
  return sourcesOf(functions).filter(
    one => likeness(one.lines.filter(line => line !== '\0'), lines) >= ENOUGH
  );
}
