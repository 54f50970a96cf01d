/**
 * What the panel and the commands do to a session, with the questions before it.
 */

import { Clipboard, Dialog, MainAreaWidget, Notification, showDialog } from '@jupyterlab/apputils';
import { MimeModel } from '@jupyterlab/rendermime';
import type { KernelMessage } from '@jupyterlab/services';
import { Widget } from '@lumino/widgets';

import type { ISession, IViews } from '../tokens';
import { bytes, counted } from '../shared/texts.ts';
import { jxIcon } from './icon';
import { ask } from './model';
import { releaseQuestion } from './texts.ts';

/** Tells a failure where it is seen. */
export async function telling(act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch (reason) {
    Notification.error(`jxkernel: ${reason instanceof Error ? reason.message : String(reason)}`);
  }
}

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

/** Forgets traces and executables, after asking. */
export async function clearCaches(session: ISession): Promise<void> {
  const known = await ask(session, 'caches');
  const traced = `${counted(known.functions, 'traced function')} will be traced and compiled again at the next call.`;
  const disk = known.disk_entries
    ? `${counted(known.disk_entries, 'executable')} (${known.disk_size}) on disk, in ${known.disk_folder}, may be deleted too.`
    : 'Nothing is kept on disk.';
  const answer = await showDialog({
    title: 'Clear the caches of jxkernel?',
    body: `${traced}\n${disk}`,
    checkbox: known.disk_entries ? { label: 'Delete those on disk too' } : null,
    buttons: [Dialog.cancelButton(), Dialog.warnButton({ label: 'Clear' })],
    defaultButton: 0
  });
  if (answer.button.accept) {
    const done = await ask(session, 'clear_caches', { disk: answer.isChecked === true });
    Notification.success(done.text, { autoClose: 3000 });
  }
}

/** Shows what was built in a cell, and why. */
export async function explainCell(
  session: ISession,
  cell: string,
  number: number | null
): Promise<void> {
  const { title, text } = await ask(session, 'explain', { cell, number });
  const copy = 'Copy';
  const answer = await showDialog({
    title,
    body: new TextBody(text),
    buttons: [Dialog.createButton({ label: copy, accept: false }), Dialog.okButton({ label: 'Close' })]
  });
  if (answer.button.label === copy) {
    Clipboard.copyToSystem(text);
  }
}

/** The whole ledger of a session, as a tab; null where nobody draws ledgers. */
export async function ledgerTab(
  views: IViews,
  session: ISession,
  token: string
): Promise<MainAreaWidget | null> {
  const data = await ask(session, 'builds', { token });
  const model = new MimeModel({ trusted: true });
  const content = await views.draw('ledger', { data, text: '', model, trusted: true });
  if (!content) {
    return null;
  }
  const tab = new MainAreaWidget({ content });
  content.addClass('jp-jxk-View');
  content.addClass('jp-jxk-inTab');
  tab.title.label = `Ledger: ${session.context.name}`;
  tab.title.icon = jxIcon;
  return tab;
}

/** Loads the extension into the kernel, as a cell with `%load_ext jxkernel` would. */
export async function load(session: ISession): Promise<void> {
  const kernel = session.context.session?.kernel;
  if (!kernel) {
    throw new Error('There is no kernel');
  }
  const request = { code: '%load_ext jxkernel', store_history: false, stop_on_error: false };
  const future = kernel.requestExecute(request);
  let error = '';
  future.onIOPub = message => {
    if (message.header.msg_type === 'error') {
      error = (message as KernelMessage.IErrorMsg).content.evalue;
    } else if (message.header.msg_type === 'stream') {
      error ||= (message as KernelMessage.IStreamMsg).content.text.trim();
    }
  };
  const reply = await future.done;
  if (reply.content.status !== 'ok' || (error && !session.status)) {
    throw new Error(error || 'it could not be loaded');
  }
}

/** A text as it is, to be read and selected. */
class TextBody extends Widget {
  constructor(text: string) {
    super({ node: document.createElement('pre') });
    this.node.textContent = text;
    this.node.tabIndex = 0;
    this.addClass('jp-jxk-TextBody');
  }
}
