/**
 * The panel: a line that says what computes, sections as tabs, and the section that is shown.
 */

import { VDomRenderer } from '@jupyterlab/apputils';
import { refreshIcon } from '@jupyterlab/ui-components';
import type { Message } from '@lumino/messaging';
import React from 'react';

import { Button, CopyButton } from '../shared/controls.tsx';
import { ClusterSection } from './cluster';
import { DevicesSection } from './devices';
import { FunctionsSection } from './functions';
import { LedgerSection } from './ledger';
import { LiveSection } from './live';
import type { PanelModel, Section } from './model';
import { SECTIONS } from './model';
import type { IActs } from './parts';

/** What the panel does besides what sections do. */
export interface IPanelActs extends IActs {
  readonly load: () => void;
}

/** Draws the panel. */
export class JxPanel extends VDomRenderer<PanelModel> {
  constructor(
    model: PanelModel,
    private readonly _acts: IPanelActs
  ) {
    super(model);
    this.addClass('jp-jxk-Panel');
    this.node.setAttribute('role', 'region');
    this.node.setAttribute('aria-label', 'jxkernel');
  }

  /** Shows a section and moves the focus to its first control. */
  open(section: Section): void {
    this.model.section = section;
    this._wantsFocus = true;
    this.update();
  }

  protected override onAfterShow(message: Message): void {
    super.onAfterShow(message);
    this.model.isVisible = true;
  }

  protected override onBeforeHide(message: Message): void {
    super.onBeforeHide(message);
    this.model.isVisible = false;
  }

  protected override onAfterAttach(message: Message): void {
    super.onAfterAttach(message);
    this.model.isVisible = this.isVisible;
  }

  protected override onBeforeDetach(message: Message): void {
    this.model.isVisible = false;
    super.onBeforeDetach(message);
  }

  protected override onActivateRequest(message: Message): void {
    super.onActivateRequest(message);
    this._focus();
  }

  protected override onUpdateRequest(message: Message): void {
    super.onUpdateRequest(message);
    if (this._wantsFocus) {
      void this.renderPromise?.then(() => this._focus());
    }
  }

  protected override render(): React.JSX.Element {
    const { model } = this;
    if (!model.isReady) {
      return <Nothing model={model} load={this._acts.load} />;
    }
    return (
      <>
        <Head model={model} />
        <Tabs model={model} />
        <div
          className="jp-jxk-panel-content"
          id="jp-jxk-panel-content"
          role="tabpanel"
          aria-labelledby={`jp-jxk-panel-tab-${model.section}`}
          aria-busy={model.feed.isAsking}
          tabIndex={0}
        >
          {model.feed.error && (
            <p className="jp-jxk-panel-failed" role="alert">
              {model.feed.error}
            </p>
          )}
          {this._section()}
        </div>
      </>
    );
  }

  private _section(): React.JSX.Element {
    const { model, _acts: acts } = this;
    const { filter } = model;
    const { values } = model.preferences;
    const { ledger, functions, live, backend, cluster } = model;
    switch (model.section) {
      case 'ledger':
        return ledger.answer ? (
          <LedgerSection answer={ledger.answer} {...{ filter, values, acts }} />
        ) : (
          <Waiting />
        );
      case 'functions':
        return functions.answer ? (
          <FunctionsSection answer={functions.answer} {...{ filter, acts }} />
        ) : (
          <Waiting />
        );
      case 'live':
        return live.answer ? (
          <LiveSection answer={live.answer} {...{ model, acts }} />
        ) : (
          <Waiting />
        );
      case 'cluster':
        return cluster.answer ? (
          <ClusterSection answer={cluster.answer} acts={acts} />
        ) : (
          <Waiting />
        );
      case 'backend':
        return backend.state.answer ? (
          <DevicesSection answer={backend.state.answer} model={backend} />
        ) : (
          <Waiting />
        );
    }
  }

  private _focus(): void {
    const first =
      this.node.querySelector<HTMLElement>('[data-jxk-first]') ??
      this.node.querySelector<HTMLElement>('[role=tab][aria-selected=true]') ??
      this.node.querySelector<HTMLElement>('button');
    if (first) {
      this._wantsFocus = this.model.section === 'backend' && !first.matches('select');
      first.focus();
    }
  }

  private _wantsFocus = false;
}

/** What is shown where there is no session. */
function Nothing(props: {
  readonly model: PanelModel;
  readonly load: () => void;
}): React.JSX.Element {
  const { session } = props.model;
  if (session?.isNewer) {
    return (
      <p className="jp-jxk-panel-empty">
        The kernel’s jxkernel is newer than this lab extension: install the same version.
      </p>
    );
  }
  const kernel = session?.context.session?.kernel;
  return (
    <div className="jp-jxk-panel-empty">
      {kernel ? (
        <>
          <p>jxkernel is not loaded in this kernel.</p>
          <Button text="Load it" title="Load it: run %load_ext jxkernel" onClick={props.load} />
        </>
      ) : (
        <p>Open a notebook with a Python kernel to see what jxkernel does in it.</p>
      )}
    </div>
  );
}

function Waiting(): React.JSX.Element {
  return (
    <p className="jp-jxk-panel-empty" role="status">
      Asking the kernel; a cell that runs may have to end first.
    </p>
  );
}

/** What computes, and buttons for the whole panel. */
function Head(props: { readonly model: PanelModel }): React.JSX.Element {
  const { model } = props;
  const status = model.session?.status;
  const text = (model.feed.answer as { readonly text?: string } | null)?.text ?? '';
  const name = SECTIONS.find(([id]) => id === model.section)?.[1].toLowerCase() ?? '';
  return (
    <div className="jp-jxk-panel-head">
      <span className="jp-jxk-panel-device" title="The default device">
        {status?.device || 'not started'}
        {status?.x64 && ' · 64 bit'}
        {status?.teaching && ' · teaching'}
      </span>
      <CopyButton text={() => text} what={name} />
      <button
        type="button"
        className="jp-jxk-panel-iconButton"
        title="Refresh"
        aria-label="Refresh"
        onClick={() => model.refresh()}
      >
        <refreshIcon.react tag="span" />
      </button>
    </div>
  );
}

/** The sections as tabs; arrow keys go from one to the next. */
function Tabs(props: { readonly model: PanelModel }): React.JSX.Element {
  const { model } = props;
  const onKeyDown = (event: React.KeyboardEvent): void => {
    const at = SECTIONS.findIndex(([id]) => id === model.section);
    const moves: Record<string, number> = {
      ArrowRight: at + 1,
      ArrowLeft: at - 1,
      Home: 0,
      End: SECTIONS.length - 1
    };
    const next = moves[event.key];
    if (next === undefined) {
      return;
    }
    event.preventDefault();
    const [id] = SECTIONS[(next + SECTIONS.length) % SECTIONS.length] ?? [model.section];
    model.section = id;
    document.getElementById(`jp-jxk-panel-tab-${id}`)?.focus();
  };
  return (
    <>
      <div className="jp-jxk-panel-tabs" role="tablist" aria-label="Sections" onKeyDown={onKeyDown}>
        {SECTIONS.map(([id, name]) => (
          <button
            key={id}
            type="button"
            role="tab"
            id={`jp-jxk-panel-tab-${id}`}
            aria-selected={id === model.section}
            aria-controls="jp-jxk-panel-content"
            tabIndex={id === model.section ? 0 : -1}
            onClick={() => {
              model.section = id;
            }}
          >
            {name}
          </button>
        ))}
      </div>
      {!['backend', 'cluster'].includes(model.section) && (
        <input
          type="search"
          className="jp-jxk-panel-filter"
          placeholder="filter"
          aria-label={`Filter the ${model.section === 'live' ? 'arrays' : model.section}`}
          value={model.filter}
          onChange={event => {
            model.filter = event.target.value;
          }}
        />
      )}
    </>
  );
}
