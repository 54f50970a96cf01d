/**
 * Small parts that the panel's sections are made of.
 */

import { Clipboard } from '@jupyterlab/apputils';
import React from 'react';

import { shortPlace } from './words.ts';

/** What sections do besides reading the model. */
export interface IActs {
  /** Whether a text names a cell that can be gone to. */
  readonly canGo: (text: string | null, cells: Record<string, string>) => boolean;
  readonly go: (text: string, cells: Record<string, string>) => void;
  readonly open: (path: string, line: number) => void;
  readonly release: (names: readonly string[]) => void;
}

/** A button of the panel. */
export function PanelButton(props: {
  readonly label: string;
  readonly title?: string;
  readonly isMain?: boolean;
  readonly isDisabled?: boolean;
  readonly onClick: () => void;
}): React.JSX.Element {
  return (
    <button
      type="button"
      className={props.isMain ? 'jp-jxk-panel-button jp-mod-main' : 'jp-jxk-panel-button'}
      title={props.title}
      aria-label={props.title}
      disabled={props.isDisabled}
      onClick={props.onClick}
    >
      {props.label}
    </button>
  );
}

/** Copies a text, and says that it did. */
export function CopyText(props: { readonly text: string; readonly what: string }): React.JSX.Element {
  const [isDone, setDone] = React.useState(false);
  React.useEffect(() => {
    const timer = isDone ? window.setTimeout(() => setDone(false), 2000) : 0;
    return () => window.clearTimeout(timer);
  }, [isDone]);
  return (
    <>
      <PanelButton
        label={isDone ? 'Copied' : 'Copy'}
        title={`Copy ${props.what} as text`}
        onClick={() => {
          Clipboard.copyToSystem(props.text);
          setDone(true);
        }}
      />
      <span className="jp-jxk-panel-unseen" role="status">
        {isDone ? 'Copied' : ''}
      </span>
    </>
  );
}

/** The name of a cell or a line: a link where one can go there. */
export function Place(props: {
  readonly text: string;
  readonly cells: Record<string, string>;
  readonly acts: IActs;
}): React.JSX.Element {
  const { text, cells, acts } = props;
  if (!acts.canGo(text, cells)) {
    return (
      <span className="jp-jxk-panel-place" title={text}>
        {shortPlace(text)}
      </span>
    );
  }
  return (
    <button
      type="button"
      className="jp-jxk-panel-link"
      title={`Go to ${text.replace(/^Cell /, '')}`}
      onClick={() => acts.go(text, cells)}
    >
      {shortPlace(text)}
    </button>
  );
}

/** A part of a whole as a bar, with its text beside it. */
export function Bar(props: { readonly part: number; readonly text: string }): React.JSX.Element {
  const percent = Math.round(Math.min(Math.max(props.part, 0), 1) * 100);
  return (
    <span className="jp-jxk-panel-amount">
      <span className="jp-jxk-panel-bar" aria-hidden="true">
        <span style={{ width: `${Math.max(percent, 1)}%` }} />
      </span>
      <span className="jp-jxk-panel-figure">{props.text}</span>
    </span>
  );
}

/** A warning: a sign, a word and its text. */
export function Warning(props: { readonly children: React.ReactNode }): React.JSX.Element {
  return (
    <div className="jp-jxk-panel-warning">
      <span className="jp-jxk-panel-sign" aria-hidden="true">
        ⚠
      </span>
      <div>{props.children}</div>
    </div>
  );
}
