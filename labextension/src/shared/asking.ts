/**
 * What is asked of a session for a user's action, and how a failure is told.
 */

import { Notification } from '@jupyterlab/apputils';

import type { Answers } from '../protocol';
import type { IPanel, ISession } from '../tokens';
import { Feed } from './feed.ts';

/** Asks a session for what is answered under a name. */
export async function ask<K extends keyof Answers>(
  session: ISession | null,
  name: K,
  arguments_: Record<string, unknown> = {}
): Promise<Answers[K]> {
  if (!session) {
    throw new Error('No notebook or console is open');
  }
  return session.request<Answers[K]>(name, arguments_);
}

/** Feeds a section of the panel with what its session answers under a name. */
export function feedOf<K extends keyof Answers>(panel: IPanel, name: K): Feed<Answers[K]> {
  return new Feed(
    () => ask(panel.session, name),
    () => panel.redraw()
  );
}

/** Tells a failure where it is seen. */
export async function telling(act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch (reason) {
    Notification.error(`jxkernel: ${reason instanceof Error ? reason.message : String(reason)}`);
  }
}
