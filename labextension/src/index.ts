/**
 * The extension: what each folder adds.
 *
 * To delete a feature, delete its folder and its two lines here.
 */

import type { JupyterFrontEndPlugin } from '@jupyterlab/application';

import caches from './caches';
import cluster from './cluster';
import commands from './commands';
import devices from './devices';
import differences from './differences';
import jit from './jit';
import kernel from './kernel';
import ledger from './ledger';
import links from './links';
import memory from './memory';
import panel from './panel';
import passing from './passing';
import programs from './programs';
import provenance from './provenance';
import settings from './settings';
import status from './status';
import teaching from './teaching';
import timeline from './timeline';
import views from './views';

/** What features stand on. */
const base = [kernel, settings, commands, views, status, panel, passing, links];

/** The features: each folder is named as that in `jxkernel/jupyter`. */
const features = [
  jit,
  programs,
  provenance,
  differences,
  ledger,
  memory,
  timeline,
  devices,
  cluster,
  caches,
  teaching
];

const plugins: JupyterFrontEndPlugin<unknown>[] = [...base, ...features].flat();

export default plugins;
