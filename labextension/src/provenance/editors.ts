/**
 * The plugin that marks traced and static names in the editors of cells that ran.
 */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { Notification } from '@jupyterlab/apputils';
import type { ICellModel } from '@jupyterlab/cells';
import type { CodeEditor } from '@jupyterlab/codeeditor';
import { EditorExtensionRegistry, IEditorExtensionRegistry } from '@jupyterlab/codemirror';
import type { DocumentRegistry, IDocumentWidget } from '@jupyterlab/docregistry';
import { INotebookTracker } from '@jupyterlab/notebook';
import type { Widget } from '@lumino/widgets';

import { ICommands, ILineCosts, IPlaces, IPreferences, ISessions } from '../tokens';
import { marksOf } from './extension';
import { Marks } from './notebooks';

export const marksPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jxkernel:marks',
  description: 'Marks what is traced, static or constant in the editors of cells that ran.',
  autoStart: true,
  requires: [IEditorExtensionRegistry],
  optional: [
    INotebookTracker,
    IPlaces,
    ISessions,
    ILineCosts,
    IPreferences,
    ICommands
  ],
  activate: (
    app: JupyterFrontEnd,
    editors: IEditorExtensionRegistry,
    notebooks: INotebookTracker | null,
    places: IPlaces | null,
    sessions: ISessions | null,
    costs: ILineCosts | null,
    preferences: IPreferences | null,
    commands: ICommands | null
  ) => {
    const marks = new Marks(places, costs, sessions);
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
    preferences?.changed.connect((_, values) => {
      marks.isOn = values.marks;
      document.body.style.setProperty('--jp-jxk-markSize', `${values.markSize}px`);
    });
    if (commands && preferences) {
      addCommands(commands, preferences, marks);
    }
  }
};

function addCommands(commands: ICommands, preferences: IPreferences, marks: Marks): void {
  commands.add('jxkernel:explain-name', {
    label: 'Explain Name at Cursor',
    caption: 'How tracing treats the marked name or expression at the cursor',
    isEnabled: () => commands.session !== null && marks.isOn && commands.codeCell !== null,
    execute: () => {
      if (!marks.explain(commands.codeCell?.editor ?? null)) {
        Notification.info('Nothing is marked at the cursor', { autoClose: 3000 });
      }
    }
  });
  commands.add('jxkernel:toggle-marks', {
    label: 'Marks of Traced and Static in Editors',
    caption: 'Mark in cells what is traced, static, constant, or happens while tracing',
    isToggleable: true,
    isToggled: () => preferences.values.marks,
    execute: () => preferences.set('marks', !preferences.values.marks)
  });
}
