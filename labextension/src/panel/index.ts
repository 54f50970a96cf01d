/**
 * The plugin of the right panel and of the commands.
 */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ILayoutRestorer } from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import { INotebookTracker } from '@jupyterlab/notebook';

import type { ISession } from '../tokens';
import { IMarks, IPreferences, ISessions, IViews } from '../tokens';
import { ledgerTab, load, release, telling } from './actions';
import { Cells } from './cells';
import { addCommands } from './commands';
import { jxIcon } from './icon';
import { PanelModel } from './model';
import type { IPanelActs } from './widget';
import { JxPanel } from './widget';

/** What the panel and its sections do. */
function actsOf(
  model: PanelModel,
  cells: Cells,
  show: (session: ISession, token: string) => Promise<void>
): IPanelActs {
  const act = (does: (session: ISession) => Promise<unknown>) => {
    const { session } = model;
    if (session) {
      void telling(async () => void (await does(session)));
    }
  };
  return {
    canGo: (text, identities) => cells.find(model.session, text, identities) >= 0,
    go: (text, identities) => act(session => cells.reveal(session, text, identities)),
    open: (path, line) => act(session => cells.open(session, path, line)),
    release: names =>
      act(async session => {
        if (await release(session, names)) {
          model.expire();
        }
      }),
    openLedger: token => act(session => show(session, token)),
    load: () => act(load)
  };
}

export const panelPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jxkernel:panel',
  description: 'The panel with ledger, functions, arrays and devices, and the commands.',
  autoStart: true,
  requires: [ISessions, IPreferences],
  optional: [INotebookTracker, ICommandPalette, ILayoutRestorer, IMarks, IViews],
  activate: (
    app: JupyterFrontEnd,
    sessions: ISessions,
    preferences: IPreferences,
    notebooks: INotebookTracker | null,
    palette: ICommandPalette | null,
    restorer: ILayoutRestorer | null,
    marks: IMarks | null,
    views: IViews | null
  ) => {
    const model = new PanelModel(sessions, preferences);
    const cells = new Cells(app, notebooks);
    const panel = new JxPanel(
      model,
      actsOf(model, cells, async (session, token) => {
        const tab = views && (await ledgerTab(views, session, token));
        if (tab) {
          app.shell.add(tab, 'main');
        }
      })
    );
    panel.id = 'jxkernel-panel';
    panel.title.icon = jxIcon;
    panel.title.caption = 'jxkernel';
    panel.title.label = '';
    app.shell.add(panel, 'right', { rank: 900 });
    restorer?.add(panel, panel.id);
    addCommands({ app, sessions, preferences, notebooks, palette, marks, panel });
    if (marks) {
      preferences.changed.connect((_, values) => {
        marks.isOn = values.marks;
        document.body.style.setProperty('--jp-jxk-markSize', `${values.markSize}px`);
      });
    }
  }
};
