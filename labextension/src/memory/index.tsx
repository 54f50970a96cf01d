/**
 * The plugins of memory: views of live arrays and of where memory ran out, and the panel's section.
 */

import type { JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ReactWidget } from '@jupyterlab/apputils';
import { INotebookTracker } from '@jupyterlab/notebook';
import React from 'react';

import { TextTable } from '../shared/texttable.tsx';
import { ICommands, IPanel, IPreferences, ISessions, IViews } from '../tokens';
import { Section } from './section';
import { Shortage } from './shortage.tsx';

const memoryPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jxkernel:memory',
  description: 'Draws live arrays, and frees memory where it ran out.',
  autoStart: true,
  requires: [IViews],
  optional: [ISessions, INotebookTracker],
  activate: (
    _,
    views: IViews,
    sessions: ISessions | null,
    notebooks: INotebookTracker | null
  ) => {
    views.add('memory', ({ data }) =>
      ReactWidget.create(
        <>
          <TextTable table={data.arrays} />
          <TextTable table={data.devices} />
        </>
      )
    );
    views.add('shortage', ({ data, trusted }) =>
      ReactWidget.create(
        <Shortage data={data} sessions={trusted ? sessions : null} notebooks={notebooks} />
      )
    );
  }
};

const livePlugin: JupyterFrontEndPlugin<void> = {
  id: 'jxkernel:live',
  description: 'Shows live arrays in the panel.',
  autoStart: true,
  requires: [IPanel, ICommands, IPreferences],
  activate: (_, panel: IPanel, commands: ICommands, preferences: IPreferences) =>
    panel.add(new Section(panel, commands, preferences))
};

export default [memoryPlugin, livePlugin];
