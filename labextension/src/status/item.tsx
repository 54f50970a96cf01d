/**
 * The status item: it reads its model and draws a line.
 */

import { VDomModel, VDomRenderer } from '@jupyterlab/apputils';
import type { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import React from 'react';

import type { IPreferences, ISession, ISessions } from '../tokens';
import type { IStatusWords } from './texts';
import { statusWords } from './texts';

/** Follows the session worked in, or that of one notebook. */
export class StatusModel extends VDomModel {
  constructor(
    private readonly _sessions: ISessions,
    private readonly _notebooks: INotebookTracker | null,
    private readonly _panel: NotebookPanel | null,
    private readonly _preferences: IPreferences
  ) {
    super();
    _preferences.changed.connect(this._onChanged, this);
    if (_panel) {
      this._follow(_sessions.of(_panel.sessionContext));
    } else {
      _sessions.currentChanged.connect(this._onCurrentChanged, this);
      this._follow(_sessions.current);
    }
  }

  /** What is to be shown; null for nothing. */
  get words(): IStatusWords | null {
    return this._preferences.values.statusItem
      ? statusWords(this._session, this._queued())
      : null;
  }

  override dispose(): void {
    this._follow(null);
    this._sessions.currentChanged.disconnect(this._onCurrentChanged, this);
    this._preferences.changed.disconnect(this._onChanged, this);
    super.dispose();
  }

  private _onCurrentChanged(_: ISessions, session: ISession | null): void {
    this._follow(session);
  }

  private _follow(session: ISession | null): void {
    this._session?.changed.disconnect(this._onChanged, this);
    this._session?.context.statusChanged.disconnect(this._onChanged, this);
    this._session = session;
    session?.changed.connect(this._onChanged, this);
    session?.context.statusChanged.connect(this._onChanged, this);
    this._onChanged();
  }

  private _onChanged(): void {
    const text = JSON.stringify(this.words);
    if (text !== this._shown) {
      this._shown = text;
      this.stateChanged.emit();
    }
  }

  /** How many cells wait behind the one that runs. */
  private _queued(): number {
    const context = this._session?.context;
    const panel = this._panel ?? this._notebooks?.currentWidget;
    if (!panel || panel.sessionContext !== context) {
      return 0;
    }
    const running = panel.content.widgets.filter(
      one =>
        one.model.type === 'code' &&
        (one.model as { executionState?: string }).executionState === 'running'
    );
    return Math.max(running.length - 1, 0);
  }

  private _session: ISession | null = null;
  private _shown = '';
}

/** Draws the line, as a button where a click does something. */
export class StatusItem extends VDomRenderer<StatusModel> {
  constructor(
    model: StatusModel,
    private readonly _select: () => void
  ) {
    super(model);
    this.addClass('jp-jxk-Status');
  }

  protected override render(): React.JSX.Element | null {
    const words = this.model.words;
    if (!words) {
      return null;
    }
    return (
      <button
        type="button"
        className="jp-jxk-statusButton"
        title={`${words.title}\n\nClick to select the backend`}
        onClick={this._select}
      >
        {words.isWorking && <span className="jp-jxk-dot" aria-hidden="true" />}
        <span className="jp-StatusBar-TextItem" role="status">
          {words.text}
        </span>
      </button>
    );
  }
}
