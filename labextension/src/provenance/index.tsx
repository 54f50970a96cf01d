/**
 * The plugin that draws the map of traced and static.
 */

import type { JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ReactWidget } from '@jupyterlab/apputils';
import React from 'react';

import { IPlaces, IViews } from '../tokens';
import { SourceMap } from './map.tsx';

export const provenancePlugin: JupyterFrontEndPlugin<void> = {
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
