/**
 * The plugin that marks traced and static names in the editors of cells that ran.
 */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import type { ICellModel } from '@jupyterlab/cells';
import type { CodeEditor } from '@jupyterlab/codeeditor';
import { EditorExtensionRegistry, IEditorExtensionRegistry } from '@jupyterlab/codemirror';
import type { DocumentRegistry, IDocumentWidget } from '@jupyterlab/docregistry';
import { INotebookTracker } from '@jupyterlab/notebook';
import type { Widget } from '@lumino/widgets';

import { IMarks, IPlaces, ISessions } from '../tokens';
import { marksOf } from './extension';
import { Marks } from './notebooks';

export const marksPlugin: JupyterFrontEndPlugin<IMarks> = {
  id: 'jxkernel:marks',
  description: 'Marks what is traced, static or constant in the editors of cells that ran.',
  autoStart: true,
  provides: IMarks,
  requires: [IEditorExtensionRegistry],
  optional: [INotebookTracker, IPlaces, ISessions],
  activate: (
    app: JupyterFrontEnd,
    editors: IEditorExtensionRegistry,
    notebooks: INotebookTracker | null,
    places: IPlaces | null,
    sessions: ISessions | null
  ) => {
    const marks = new Marks(places, sessions);
    editors.addExtension({
      name: 'jxkernel:marks',
      factory: ({ model }) =>
        ['code', undefined].includes((model as Partial<ICellModel>).type)
          ? EditorExtensionRegistry.createImmutableExtension(marksOf(marks.of(model)))
          : null
    });
    app.docRegistry.addWidgetExtension('Editor', {
      createNew: (widget: IDocumentWidget, context: DocumentRegistry.Context) => {
        const { editor } = widget.content as Widget & { readonly editor?: CodeEditor.IEditor };
        if (editor && context.path.endsWith('.py')) {
          marks.followFile(editor.model, context);
        }
      }
    });
    if (notebooks) {
      marks.follow(notebooks);
    }
    return marks;
  }
};
