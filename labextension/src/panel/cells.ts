/**
 * From a cell's label to the cell.
 */

import type { JupyterFrontEnd } from '@jupyterlab/application';
import type { CodeEditor } from '@jupyterlab/codeeditor';
import { PathExt } from '@jupyterlab/coreutils';
import type { IDocumentWidget } from '@jupyterlab/docregistry';
import type { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';

import { cellPlace } from '../shared/cellplace.ts';
import type { ISession } from '../tokens';

/** How long a cell that was gone to is lit up, in milliseconds. */
const LIT = 1500;

/** Finds cells of a session's notebook, and goes there. */
export class Cells {
  constructor(
    private readonly _app: JupyterFrontEnd,
    private readonly _notebooks: INotebookTracker | null
  ) {}

  /** The notebook of a session; null for a console. */
  notebook(session: ISession | null): NotebookPanel | null {
    return this._notebooks?.find(panel => panel.sessionContext === session?.context) ?? null;
  }

  /**
   * The place in the notebook of a cell that a text names; -1 where it is not there any more.
   *
   * @param identities the cells' ids by label, as the kernel was told them.
   */
  find(session: ISession | null, text: string | null, identities: Record<string, string>): number {
    const place = cellPlace(text);
    const cells = this.notebook(session)?.content.widgets ?? [];
    if (!place) {
      return -1;
    }
    const identity = identities[place.label];
    const found = cells.findIndex(one => one.model.id === identity);
    return found >= 0
      ? found
      : cells.findIndex(
          one =>
            one.model.type === 'code' &&
            (one.model as { executionCount?: number | null }).executionCount === place.number
        );
  }

  /** Goes to a cell that a text names, and to the line in it. */
  async reveal(session: ISession, text: string, identities: Record<string, string>): Promise<void> {
    const panel = this.notebook(session);
    const index = this.find(session, text, identities);
    const cell = panel?.content.widgets[index];
    if (!panel || !cell) {
      return;
    }
    this._app.shell.activateById(panel.id);
    panel.content.activeCellIndex = index;
    panel.content.deselectAll();
    await panel.content.scrollToItem(index, 'smart');
    const line = cellPlace(text)?.line ?? 0;
    if (line > 0 && cell.editor && line <= cell.editor.lineCount) {
      cell.editor.setCursorPosition({ line: line - 1, column: 0 });
    }
    panel.content.activate();
    cell.addClass('jp-jxk-panel-lit');
    window.setTimeout(() => {
      if (!cell.isDisposed) {
        cell.removeClass('jp-jxk-panel-lit');
      }
    }, LIT);
  }

  /**
   * Opens a file of the user's at a line.
   *
   * @param path from the kernel's folder, which is the notebook's unless code has changed it.
   */
  async open(session: ISession, path: string, line: number): Promise<void> {
    const near = PathExt.dirname(session.context.path);
    const full = PathExt.join(near, path);
    try {
      await this._app.serviceManager.contents.get(full, { content: false });
    } catch {
      throw new Error(`${path} is not where Jupyter can open it`);
    }
    const opened = (await this._app.commands.execute('docmanager:open', {
      path: full
    })) as Partial<IDocumentWidget> | undefined;
    await opened?.context?.ready;
    const editor = (opened?.content as { readonly editor?: CodeEditor.IEditor } | undefined)?.editor;
    if (editor && line > 0 && line <= editor.lineCount) {
      const position = { line: line - 1, column: 0 };
      editor.setCursorPosition(position);
      editor.revealPosition(position);
      editor.focus();
    }
  }
}
