/**
 * The extension: one plugin for each folder.
 */

import type { JupyterFrontEndPlugin } from '@jupyterlab/application';

import { sessionsPlugin } from './kernel';
import { marksPlugin } from './marks';
import { placesPlugin, programsPlugin } from './programs';
import { statusPlugin } from './status';
import { viewsPlugin } from './views';

const plugins: JupyterFrontEndPlugin<unknown>[] = [
  sessionsPlugin,
  viewsPlugin,
  statusPlugin,
  marksPlugin,
  placesPlugin,
  programsPlugin
];

export default plugins;
