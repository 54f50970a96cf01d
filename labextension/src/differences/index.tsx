/**
 * The plugins that compare programs: as an output, and in the view of a program.
 */

import type { JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ReactWidget } from '@jupyterlab/apputils';
import React from 'react';

import { IComparisons, IViews } from '../tokens';
import { Comparison } from './comparison';
import { Diff } from './diff.tsx';

const differencesPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jxkernel:differences',
  description: 'Draws comparisons of programs.',
  autoStart: true,
  requires: [IViews],
  activate: (_, views: IViews) => {
    views.add('diff', ({ data, text }) => ReactWidget.create(<Diff data={data} text={text} />));
  }
};

const comparisonsPlugin: JupyterFrontEndPlugin<IComparisons> = {
  id: 'jxkernel:comparisons',
  description: 'Compares a program with others that the kernel keeps.',
  autoStart: true,
  provides: IComparisons,
  activate: () => ({ of: program => new Comparison(program) })
};

export default [differencesPlugin, comparisonsPlugin];
