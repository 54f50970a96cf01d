/**
 * The extension: one plugin for each folder.
 */

import type { JupyterFrontEndPlugin } from '@jupyterlab/application';

import { sessionsPlugin } from './kernel';
import { marksPlugin } from './marks';
import { panelPlugin } from './panel';
import { placesPlugin, programsPlugin } from './programs';
import { settingsPlugin } from './settings';
import { runsPlugin } from './runs';
import { statusPlugin } from './status';
import { viewsPlugin } from './views';

const plugins: JupyterFrontEndPlugin<unknown>[] = [
  sessionsPlugin,
  settingsPlugin,
  viewsPlugin,
  statusPlugin,
  marksPlugin,
  placesPlugin,
  programsPlugin,
  panelPlugin,
  runsPlugin
];

export default plugins;
