/**
 * The plugin that joins the kernels' comms.
 */

import type { JupyterFrontEndPlugin } from '@jupyterlab/application';
import { IConsoleTracker } from '@jupyterlab/console';
import { INotebookTracker } from '@jupyterlab/notebook';

import { ISessions } from '../tokens';
import { Sessions } from './sessions';

export const sessionsPlugin: JupyterFrontEndPlugin<ISessions> = {
  id: 'jxkernel:sessions',
  description: 'Joins the kernels of open notebooks and consoles.',
  autoStart: true,
  provides: ISessions,
  optional: [INotebookTracker, IConsoleTracker],
  activate: (_, notebooks: INotebookTracker | null, consoles: IConsoleTracker | null) => {
    const sessions = new Sessions();
    for (const tracker of [notebooks, consoles]) {
      tracker?.widgetAdded.connect((_, panel) => void sessions.of(panel.sessionContext));
      tracker?.currentChanged.connect((_, panel) =>
        sessions.select(panel?.sessionContext ?? null)
      );
    }
    return sessions;
  }
};
