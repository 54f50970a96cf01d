/**
 * What was built in a cell, in a dialog.
 */

import { Clipboard, Dialog, showDialog } from '@jupyterlab/apputils';
import { Widget } from '@lumino/widgets';

import { ask } from '../shared/asking';
import type { ISession } from '../tokens';

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

/** A text as it is, to be read and selected. */
class TextBody extends Widget {
  constructor(text: string) {
    super({ node: document.createElement('pre') });
    this.node.textContent = text;
    this.node.tabIndex = 0;
    this.addClass('jp-jxk-TextBody');
  }
}
