/**
 * The whole ledger in a tab of its own.
 */

import { MainAreaWidget } from '@jupyterlab/apputils';
import { MimeModel } from '@jupyterlab/rendermime';

import { ask } from '../shared/asking';
import { jxIcon } from '../shared/icon';
import type { ISession, IViews } from '../tokens';

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
