/**
 * Small parts that the panel's sections are made of.
 */

import React from 'react';

import { shortPlace } from './texts.ts';

/** What sections do besides reading the model. */
export interface IActs {
  /** Whether a text names a cell that can be gone to. */
  readonly canGo: (text: string | null, cells: Record<string, string>) => boolean;
  readonly go: (text: string, cells: Record<string, string>) => void;
  readonly open: (path: string, line: number) => void;
  readonly release: (names: readonly string[]) => void;
  /** Opens the whole ledger in a tab of its own. */
  readonly openLedger: (token: string) => void;
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
