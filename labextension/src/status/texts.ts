/**
 * What the status item says.
 */

import { seconds } from '../shared/texts.ts';
import type { ISession } from '../tokens';

/** What is read of a session. */
export type StatusSource = Pick<ISession, 'status' | 'work' | 'isNewer' | 'dropped'>;

/** The text, what it means, and whether work is under way. */
export interface IStatusWords {
  readonly text: string;
  readonly title: string;
  readonly isWorking: boolean;
}

/** Says how a session is; null where there is nothing to say. */
export function statusWords(session: StatusSource | null, queued: number): IStatusWords | null {
  if (session?.isNewer) {
    return {
      text: 'jx: newer kernel',
      title: 'The kernel’s jxkernel is newer than this lab extension: install the same version.',
      isWorking: false
    };
  }
  if (!session?.status && !session?.work) {
    return null;
  }
  const { status, work } = session;
  // One that joins while a cell runs may hear of its work before it is told anything else.
  const parts = status ? [status.device || 'not started'] : [];
  if (status?.x64) {
    parts.push('x64');
  }
  if (work) {
    const equations = work.eqns ? ` · ${work.eqns.toLocaleString('en')} eqns` : '';
    parts.push(`${work.stage} ${work.fun}${equations} · ${seconds(work.elapsed_ns)}`);
  }
  if (queued > 0) {
    parts.push(`${queued} queued`);
  }
  return { text: `jx ${parts.join(' · ')}`, title: explained(session, queued), isWorking: !!work };
}

function explained(session: StatusSource, queued: number): string {
  const { status, work, dropped } = session;
  const lines = [`jxkernel ${status?.package ?? ''}`.trim()];
  if (status?.device) {
    const kinds = status.devices.map(one => `${one.name} (${one.kind})`).join(', ');
    lines.push(`default device: ${status.device}`, `devices: ${kinds}`);
    lines.push(`64-bit dtypes are ${status.x64 ? 'on' : 'off'}`);
  } else if (status) {
    lines.push('No platform runs yet: the first computation starts one.');
  }
  if (work) {
    lines.push(`${work.stage} ${work.fun} for ${seconds(work.elapsed_ns)}`);
  }
  if (queued > 0) {
    lines.push(`${queued} ${queued === 1 ? 'cell waits' : 'cells wait'} for the kernel`);
  }
  if (dropped > 0) {
    lines.push(`${dropped.toLocaleString('en')} events came too fast and were left out`);
  }
  return lines.join('\n');
}
