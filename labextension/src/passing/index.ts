/**
 * The plugin that leaves nothing in a saved file of what a kernel showed for a while.
 *
 * A kernel can only empty an output that it has shown, not take it away: what is left has no
 * content, and its metadata say that it was passing.
 */

import type { JupyterFrontEndPlugin } from '@jupyterlab/application';
import type { ICellModel, ICodeCellModel } from '@jupyterlab/cells';
import type { INotebookModel } from '@jupyterlab/notebook';
import { INotebookTracker } from '@jupyterlab/notebook';

import { isObject } from '../shared/shapes';

const passingPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jxkernel:passing',
  description: 'Takes outputs that have passed out of notebooks as they are saved.',
  autoStart: true,
  requires: [INotebookTracker],
  activate: (_, notebooks: INotebookTracker) => {
    notebooks.widgetAdded.connect((_, panel) => {
      panel.context.saveState.connect((context, state) => {
        if (state === 'started') {
          takeAway(context.model);
        }
      });
    });
  }
};

export default [passingPlugin];

/** Takes away what has passed of all cells that have ended. */
function takeAway(model: INotebookModel): void {
  for (const cell of model.cells) {
    if (isCode(cell) && cell.executionState !== 'running') {
      for (let index = cell.outputs.length - 1; index >= 0; index--) {
        if (hasPassed(cell.outputs.get(index))) {
          // The outputs' own `remove` leaves all but the first in the file.
          cell.sharedModel.updateOutputs(index, index + 1, []);
        }
      }
    }
  }
}

function isCode(cell: ICellModel): cell is ICodeCellModel {
  return cell.type === 'code';
}

function hasPassed(output: ReturnType<ICodeCellModel['outputs']['get']>): boolean {
  const ours = output.metadata['jxkernel'];
  return isObject(ours) && ours['passing'] === true && output.data['text/plain'] === '';
}
