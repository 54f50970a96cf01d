/**
 * The extension: one plugin for each folder.
 */

import type { JupyterFrontEndPlugin } from '@jupyterlab/application';

import { sessionsPlugin } from './kernel';
import { ledgerPlugin } from './ledger';
import { linksPlugin } from './links';
import { marksPlugin } from './marks';
import { memoryPlugin } from './memory';
import { panelPlugin } from './panel';
import { passingPlugin } from './passing';
import { placesPlugin, programsPlugin } from './programs';
import { provenancePlugin } from './provenance';
import { runsPlugin } from './runs';
import { settingsPlugin } from './settings';
import { statusPlugin } from './status';
import { teachingPlugin } from './teaching';
import { timelinePlugin } from './timeline';
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
  passingPlugin,
  runsPlugin,
  ledgerPlugin,
  linksPlugin,
  memoryPlugin,
  provenancePlugin,
  teachingPlugin,
  timelinePlugin
];

export default plugins;
