/**
 * Small parts that the panel's sections are made of.
 */

import React from 'react';

import type { IWays } from '../tokens';
import { shortPlace } from './cellplace.ts';

/** The name of a cell or a line: a link where one can go there. */
export function Place(props: {
  readonly text: string;
  readonly cells: Record<string, string>;
  readonly ways: IWays;
}): React.JSX.Element {
  const { text, cells, ways } = props;
  if (!ways.canGo(text, cells)) {
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
      onClick={() => ways.go(text, cells)}
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
