/**
 * The plugin that marks traced and static names in the editors of cells that ran.
 */

import type { JupyterFrontEndPlugin } from '@jupyterlab/application';
import type { ICellModel } from '@jupyterlab/cells';
import { EditorExtensionRegistry, IEditorExtensionRegistry } from '@jupyterlab/codemirror';
import { INotebookTracker } from '@jupyterlab/notebook';

import { IMarks, IPlaces } from '../tokens';
import { marksOf } from './extension';
import { Marks } from './notebooks';

export const marksPlugin: JupyterFrontEndPlugin<IMarks> = {
  id: 'jxkernel:marks',
  description: 'Marks what is traced, static or constant in the editors of cells that ran.',
  autoStart: true,
  provides: IMarks,
  requires: [IEditorExtensionRegistry],
  optional: [INotebookTracker, IPlaces],
  activate: (
    _,
    editors: IEditorExtensionRegistry,
    notebooks: INotebookTracker | null,
    places: IPlaces | null
  ) => {
    const marks = new Marks(places);
    editors.addExtension({
      name: 'jxkernel:marks',
      factory: ({ model }) =>
        (model as Partial<ICellModel>).type === 'code'
          ? EditorExtensionRegistry.createImmutableExtension(marksOf(marks.of(model)))
          : null
    });
    if (notebooks) {
      marks.follow(notebooks);
    }
    return marks;
  }
};
