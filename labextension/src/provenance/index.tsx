/**
 * The plugins that draw the map of traced and static, and mark both in editors.
 */

import type { JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ReactWidget } from '@jupyterlab/apputils';
import React from 'react';

import { IPlaces, IViews } from '../tokens';
import { marksPlugin } from './editors';
import { SourceMap } from './map.tsx';

const provenancePlugin: JupyterFrontEndPlugin<void> = {
  id: 'jxkernel:provenance',
  description: 'Draws the map of what was traced and what was static.',
  autoStart: true,
  requires: [IViews],
  optional: [IPlaces],
  activate: (_, views: IViews, places: IPlaces | null) => {
    views.add('provenance', ({ data, text }) =>
      ReactWidget.create(<SourceMap data={data} text={text} places={places} />)
    );
  }
};

export default [provenancePlugin, marksPlugin];
