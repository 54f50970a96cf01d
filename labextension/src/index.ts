/**
 * The extension: one plugin for each folder.
 */

import type { JupyterFrontEndPlugin } from '@jupyterlab/application';

import { sessionsPlugin } from './kernel';
import { statusPlugin } from './status';
import { viewsPlugin } from './views';

const plugins: JupyterFrontEndPlugin<unknown>[] = [sessionsPlugin, viewsPlugin, statusPlugin];

export default plugins;
