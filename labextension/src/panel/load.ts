/**
 * Loads the extension into a kernel.
 */

import type { KernelMessage } from '@jupyterlab/services';

import type { ISession } from '../tokens';

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
