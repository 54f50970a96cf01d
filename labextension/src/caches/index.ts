/**
 * The plugin with the command that clears the caches.
 */

import type { JupyterFrontEndPlugin } from '@jupyterlab/application';
import { Dialog, Notification, showDialog } from '@jupyterlab/apputils';

import { ask } from '../shared/asking';
import { counted } from '../shared/texts.ts';
import type { ISession } from '../tokens';
import { ICommands, IPanel } from '../tokens';

const cachesPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jxkernel:caches',
  description: 'Clears the caches, after asking.',
  autoStart: true,
  requires: [ICommands],
  optional: [IPanel],
  activate: (_, commands: ICommands, panel: IPanel | null) => {
    commands.add('jxkernel:clear-caches', {
      label: 'Clear Caches…',
      caption: 'Forget every trace and compiled call',
      execute: () =>
        commands.act(async session => {
          await clearCaches(session);
          panel?.expire();
        })
    });
  }
};

export default [cachesPlugin];

/** Forgets traces and executables, after asking. */
async function clearCaches(session: ISession): Promise<void> {
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
