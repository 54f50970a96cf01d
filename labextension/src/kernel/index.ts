/**
 * The plugin that joins the kernels' comms.
 */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { IConsoleTracker } from '@jupyterlab/console';
import { INotebookTracker } from '@jupyterlab/notebook';

import { ISessions } from '../tokens';
import { Sessions } from './sessions';

const sessionsPlugin: JupyterFrontEndPlugin<ISessions> = {
  id: 'jxkernel:sessions',
  description: 'Joins the kernels of open notebooks and consoles.',
  autoStart: true,
  provides: ISessions,
  optional: [INotebookTracker, IConsoleTracker],
  activate: (
    app: JupyterFrontEnd,
    notebooks: INotebookTracker | null,
    consoles: IConsoleTracker | null
  ) => {
    const sessions = new Sessions();
    const select = (): void => {
      const widget = app.shell.currentWidget;
      for (const tracker of [notebooks, consoles]) {
        const panel = tracker?.find(one => one === widget);
        if (panel) {
          sessions.select(panel.sessionContext);
        }
      }
    };
    // The trackers tell of their own kind alone: not of coming back from a console.
    app.shell.currentChanged?.connect(select);
    for (const tracker of [notebooks, consoles]) {
      tracker?.widgetAdded.connect((_, panel) => void sessions.of(panel.sessionContext));
      tracker?.currentChanged.connect(select);
    }
    return sessions;
  }
};

export default [sessionsPlugin];
