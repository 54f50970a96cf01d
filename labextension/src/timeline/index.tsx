/**
 * The plugin that draws profiles.
 */

import type { JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ReactWidget } from '@jupyterlab/apputils';
import React from 'react';

import { IViews } from '../tokens';
import { Timeline } from './view.tsx';

const timelinePlugin: JupyterFrontEndPlugin<void> = {
  id: 'jxkernel:timeline',
  description: 'Draws timelines of profiles.',
  autoStart: true,
  requires: [IViews],
  activate: (_, views: IViews) => {
    views.add('timeline', ({ data, text }) =>
      ReactWidget.create(<Timeline data={data} text={text} />)
    );
  }
};

export default [timelinePlugin];
