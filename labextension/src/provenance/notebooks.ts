/**
 * The marks of open notebooks: follows their cells' outputs, and tells each editor of its own.
 */

import type { Cell, ICellModel, ICodeCellModel } from '@jupyterlab/cells';
import type { CodeEditor } from '@jupyterlab/codeeditor';
import { CodeMirrorEditor } from '@jupyterlab/codemirror';
import type { DocumentRegistry } from '@jupyterlab/docregistry';
import type { INotebookModel, INotebookTracker } from '@jupyterlab/notebook';
import type { ISignal } from '@lumino/signaling';
import { Signal } from '@lumino/signaling';

import type { ILineCosts, IPlace, IPlaces, ISession, ISessions, LineCosts } from '../tokens';
import type { IMarkedCell } from './extension';
import { explainAtCursor } from './extension';
import { ofFile } from './files';
import type { ICellSource } from './notebook';
import { assigned } from './notebook';
import { Told } from './told';
import type { IMarkedSource } from './marks.ts';

/** Outputs come in bursts: they are read once for each. */
const PAUSE_MS = 40;
const NONE: readonly IMarkedSource[] = [];

/** A cell's marks. */
class CellMarks implements IMarkedCell {
  constructor(private readonly _marks: Marks) {}

  get sources(): readonly IMarkedSource[] {
    return this._sources;
  }

  get isOn(): boolean {
    return this._marks.isOn;
  }

  get lit(): IPlace | null {
    return this._marks.places?.current ?? null;
  }

  get costs(): LineCosts | null {
    return this._marks.costs?.lines ?? null;
  }

  get changed(): ISignal<this, void> {
    return this._changed;
  }

  light(place: IPlace): void {
    this._marks.places?.select(place);
  }

  show(sources: readonly IMarkedSource[]): void {
    this._sources = sources;
    this._changed.emit();
  }

  redraw(): void {
    this._changed.emit();
  }

  private readonly _changed = new Signal<this, void>(this);
  private _sources: readonly IMarkedSource[] = NONE;
}

/** The marks of all cells, and whether they are shown. */
export class Marks {
  constructor(
    readonly places: IPlaces | null,
    readonly costs: ILineCosts | null,
    private readonly _sessions: ISessions | null
  ) {
    places?.changed.connect(this._redraw, this);
    costs?.changed.connect(this._redraw, this);
  }

  /** Whether they are shown. */
  get isOn(): boolean {
    return this._isOn;
  }

  set isOn(value: boolean) {
    if (value !== this._isOn) {
      this._isOn = value;
      this._redraw();
    }
  }

  /** The marks of a cell; made once for each model. */
  of(model: object): CellMarks {
    let marks = this._cells.get(model);
    if (!marks) {
      marks = new CellMarks(this);
      this._cells.set(model, marks);
      this._all.add(new WeakRef(marks));
    }
    return marks;
  }

  /** Follows the notebooks that are opened. */
  follow(tracker: INotebookTracker): void {
    tracker.widgetAdded.connect((_, panel) => {
      void panel.context.ready.then(() => {
        if (!panel.isDisposed && panel.model) {
          const session = this._sessions?.of(panel.sessionContext) ?? null;
          const followed = new NotebookMarks(panel.model, this, session && this._toldBy(session));
          panel.disposed.connect(() => followed.dispose());
        }
      });
    });
  }

  /** Follows a file in an editor; what of it ran is marked. */
  followFile(model: CodeEditor.IModel, context: DocumentRegistry.Context): void {
    const show = (): void => {
      const told = [...this._told.values()].flatMap(one => one.functions);
      const found = ofFile(context.path, model.sharedModel.getSource(), told);
      const shown = this.of(model);
      if (JSON.stringify(found) !== JSON.stringify(shown.sources)) {
        shown.show(found);
      }
    };
    this._toldAnew.connect(show);
    context.disposed.connect(() => this._toldAnew.disconnect(show));
    void context.ready.then(show);
  }

  private _toldBy(session: ISession): Told {
    let told = this._told.get(session);
    if (!told) {
      told = new Told(session);
      told.changed.connect(() => this._toldAnew.emit());
      this._told.set(session, told);
      session.disposed.connect(() => {
        this._told.delete(session);
      });
      this.costs?.follow(session);
    }
    return told;
  }

  /**
   * Explains what is marked where an editor's cursor stands, in a tooltip and to a screen reader.
   *
   * @returns whether anything is marked there.
   */
  explain(editor: Cell['editor']): boolean {
    return editor instanceof CodeMirrorEditor && explainAtCursor(editor.editor);
  }

  private _redraw(): void {
    for (const one of this._all) {
      const cell = one.deref();
      if (cell) {
        cell.redraw();
      } else {
        this._all.delete(one);
      }
    }
  }

  private readonly _toldAnew = new Signal<this, void>(this);
  private readonly _told = new Map<ISession, Told>();
  private readonly _cells = new WeakMap<object, CellMarks>();
  private readonly _all = new Set<WeakRef<CellMarks>>();
  private _isOn = true;
}

/** Reads the outputs of a notebook's cells, and what its kernel tells. */
class NotebookMarks {
  constructor(
    private readonly _model: INotebookModel,
    private readonly _marks: Marks,
    private readonly _told: Told | null
  ) {
    _told?.changed.connect(this._onOutputs, this);
    _model.cells.changed.connect(this._onCells, this);
    this._onCells();
  }

  dispose(): void {
    this._isDisposed = true;
    window.clearTimeout(this._timer);
    this._told?.changed.disconnect(this._onOutputs, this);
    this._watched.forEach((model, outputs) => this._forget(outputs, model));
  }

  private _onCells(): void {
    const now = new Set([...this._model.cells].filter(isCode).map(one => one.outputs));
    for (const [outputs, model] of this._watched) {
      if (!now.has(outputs)) {
        this._forget(outputs, model);
      }
    }
    for (const cell of this._model.cells) {
      if (isCode(cell) && !this._watched.has(cell.outputs)) {
        cell.outputs.changed.connect(this._onOutputs, this);
        cell.stateChanged.connect(this._onOutputs, this);
        this._watched.set(cell.outputs, cell);
      }
    }
    this._onOutputs();
  }

  private _forget(outputs: ICodeCellModel['outputs'], model: ICodeCellModel): void {
    outputs.changed.disconnect(this._onOutputs, this);
    model.stateChanged.disconnect(this._onOutputs, this);
    this._watched.delete(outputs);
  }

  private _onOutputs(): void {
    window.clearTimeout(this._timer);
    this._timer = window.setTimeout(() => this._read(), PAUSE_MS);
  }

  private _read(): void {
    if (this._isDisposed || this._model.isDisposed) {
      return;
    }
    const cells = [...this._model.cells].filter(isCode);
    const sources = assigned(cells.map(cellSource), this._told?.functions);
    for (const cell of cells) {
      const found = sources.get(cell.id) ?? NONE;
      const shown = this._marks.of(cell);
      // A cell that runs keeps its marks until it has new ones: its lines would jump.
      const waits = !found.length && cell.executionState === 'running';
      if (!waits && JSON.stringify(found) !== JSON.stringify(shown.sources)) {
        shown.show(found);
      }
    }
  }

  private readonly _watched = new Map<ICodeCellModel['outputs'], ICodeCellModel>();
  private _timer = 0;
  private _isDisposed = false;
}

function isCode(model: ICellModel): model is ICodeCellModel {
  return model.type === 'code';
}

function cellSource(model: ICodeCellModel): ICellSource {
  const outputs: Record<string, unknown>[] = [];
  for (let index = 0; index < model.outputs.length; index++) {
    outputs.push(model.outputs.get(index).data);
  }
  return {
    id: model.id,
    text: model.sharedModel.getSource(),
    outputs,
    executionCount: model.executionCount
  };
}
