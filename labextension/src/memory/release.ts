/**
 * Releases what variables hold.
 */

import { Dialog, Notification, showDialog } from '@jupyterlab/apputils';

import { ask } from '../shared/asking';
import { bytes, counted } from '../shared/texts.ts';
import type { ISession } from '../tokens';
import { releaseQuestion } from './texts.ts';

/** Deletes arrays, after it was said which and agreed to; true where it was done. */
export async function release(session: ISession, names: readonly string[]): Promise<boolean> {
  const freeing = await ask(session, 'freeing', { names });
  const answer = await showDialog({
    title: `Release ${names.join(', ')}?`,
    body: releaseQuestion(freeing),
    buttons: [Dialog.cancelButton(), Dialog.warnButton({ label: 'Release' })],
    defaultButton: 0
  });
  if (!answer.button.accept) {
    return false;
  }
  const done = await ask(session, 'free', { names });
  Notification.success(`${counted(done.arrays, 'array')} released: ${bytes(done.bytes)}`, {
    autoClose: 3000
  });
  return true;
}
