/**
 * The panel: a line that says what computes, sections as tabs, and the section that is shown.
 */

import { VDomRenderer } from '@jupyterlab/apputils';
import { refreshIcon } from '@jupyterlab/ui-components';
import type { Message } from '@lumino/messaging';
import React from 'react';

import { Button, CopyButton } from '../shared/controls.tsx';
import type { PanelModel } from './model';

/** Draws the panel. */
export class JxPanel extends VDomRenderer<PanelModel> {
  constructor(
    model: PanelModel,
    private readonly _load: () => void
  ) {
    super(model);
    this.addClass('jp-jxk-Panel');
    this.node.setAttribute('role', 'region');
    this.node.setAttribute('aria-label', 'jxkernel');
  }

  /** Shows a section and moves the focus to its first control. */
  open(section: string): void {
    this.model.choose(section);
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
      return <Nothing model={model} load={this._load} />;
    }
    const { section } = model;
    if (!section) {
      return <Head model={model} />;
    }
    const { id, feed } = section;
    return (
      <>
        <Head model={model} />
        <Tabs model={model} />
        <div
          className="jp-jxk-panel-content"
          id="jp-jxk-panel-content"
          role="tabpanel"
          aria-labelledby={`jp-jxk-panel-tab-${id}`}
          aria-busy={feed.isAsking}
          tabIndex={0}
        >
          {feed.error && (
            <p className="jp-jxk-panel-failed" role="alert">
              {feed.error}
            </p>
          )}
          {section.draw() ?? <Waiting />}
        </div>
      </>
    );
  }

  private _focus(): void {
    const first =
      this.node.querySelector<HTMLElement>('[data-jxk-first]') ??
      this.node.querySelector<HTMLElement>('[role=tab][aria-selected=true]') ??
      this.node.querySelector<HTMLElement>('button');
    if (first) {
      this._wantsFocus = !!this.model.section?.hasFirst && !first.matches('[data-jxk-first]');
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
  const answer = model.section?.feed.answer as { readonly text?: string } | null | undefined;
  const text = answer?.text ?? '';
  const name = model.section?.name.toLowerCase() ?? '';
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
  const { sections, section } = model;
  const onKeyDown = (event: React.KeyboardEvent): void => {
    const at = sections.findIndex(one => one === section);
    const moves: Record<string, number> = {
      ArrowRight: at + 1,
      ArrowLeft: at - 1,
      Home: 0,
      End: sections.length - 1
    };
    const next = moves[event.key];
    if (next === undefined) {
      return;
    }
    event.preventDefault();
    const id = sections[(next + sections.length) % sections.length]?.id ?? '';
    model.choose(id);
    document.getElementById(`jp-jxk-panel-tab-${id}`)?.focus();
  };
  return (
    <>
      <div className="jp-jxk-panel-tabs" role="tablist" aria-label="Sections" onKeyDown={onKeyDown}>
        {sections.map(({ id, name }) => (
          <button
            key={id}
            type="button"
            role="tab"
            id={`jp-jxk-panel-tab-${id}`}
            aria-selected={id === section?.id}
            aria-controls="jp-jxk-panel-content"
            tabIndex={id === section?.id ? 0 : -1}
            onClick={() => model.choose(id)}
          >
            {name}
          </button>
        ))}
      </div>
      {section?.filtered && (
        <input
          type="search"
          className="jp-jxk-panel-filter"
          placeholder="filter"
          aria-label={`Filter the ${section.filtered}`}
          value={model.filter}
          onChange={event => {
            model.filter = event.target.value;
          }}
        />
      )}
    </>
  );
}
