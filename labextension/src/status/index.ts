/**
 * The plugin that shows the session's status: in the status bar, or in Notebook 7, which has none,
 * in each notebook's toolbar.
 */

import type { JupyterFrontEndPlugin } from '@jupyterlab/application';
import type { DocumentRegistry } from '@jupyterlab/docregistry';
import type { INotebookModel, NotebookPanel } from '@jupyterlab/notebook';
import { INotebookTracker } from '@jupyterlab/notebook';
import { IStatusBar } from '@jupyterlab/statusbar';
import type { IDisposable } from '@lumino/disposable';

import { IPreferences, ISessions, SELECT_BACKEND } from '../tokens';
import { StatusItem, StatusModel } from './item';

const statusPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jxkernel:status',
  description: 'Shows the default device and what is under way.',
  autoStart: true,
  requires: [ISessions, IPreferences],
  optional: [INotebookTracker, IStatusBar],
  activate: (
    app,
    sessions: ISessions,
    preferences: IPreferences,
    notebooks: INotebookTracker | null,
    bar: IStatusBar | null
  ) => {
    const select = (): void => {
      if (app.commands.hasCommand(SELECT_BACKEND)) {
        void app.commands.execute(SELECT_BACKEND);
      }
    };
    if (bar) {
      const item = new StatusItem(new StatusModel(sessions, notebooks, null, preferences), select);
      bar.registerStatusItem('jxkernel:status', { item, align: 'left', rank: 5 });
    } else {
      app.docRegistry.addWidgetExtension('Notebook', new ToolbarStatus(sessions, preferences, select));
    }
  }
};

export default [statusPlugin];

class ToolbarStatus implements DocumentRegistry.IWidgetExtension<NotebookPanel, INotebookModel> {
  constructor(
    private readonly _sessions: ISessions,
    private readonly _preferences: IPreferences,
    private readonly _select: () => void
  ) {}

  createNew(panel: NotebookPanel): IDisposable {
    const model = new StatusModel(this._sessions, null, panel, this._preferences);
    const item = new StatusItem(model, this._select);
    item.addClass('jp-jxk-inToolbar');
    panel.toolbar.insertAfter('cellType', 'jxkernel-status', item);
    return item;
  }
}
