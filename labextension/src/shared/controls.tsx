/**
 * Small controls that views share.
 */

import { Clipboard } from '@jupyterlab/apputils';
import React, { useEffect, useState } from 'react';

import { found } from './texts.ts';

/** A button with words, or with a sign and a title that says it in words. */
export function Button(props: {
  readonly text: string;
  readonly title?: string;
  readonly isOn?: boolean;
  readonly isDisabled?: boolean;
  /** Whether it sends the form that it is in. */
  readonly isSubmit?: boolean;
  readonly onClick?: () => void;
}): React.JSX.Element {
  return (
    <button
      type={props.isSubmit ? 'submit' : 'button'}
      className="jp-jxk-button"
      title={props.title}
      aria-label={props.title}
      aria-pressed={props.isOn}
      disabled={props.isDisabled}
      onClick={props.onClick}
    >
      {props.text}
    </button>
  );
}

/** A button that copies what it is told as text, and says that it did. */
export function CopyButton(props: {
  readonly text: () => string;
  readonly what?: string;
}): React.JSX.Element {
  const [isDone, setDone] = useState(false);
  useEffect(() => {
    if (!isDone) {
      return;
    }
    const timer = window.setTimeout(() => setDone(false), 2000);
    return () => window.clearTimeout(timer);
  }, [isDone]);
  const copy = (): void => {
    Clipboard.copyToSystem(props.text());
    setDone(true);
  };
  return (
    <>
      <Button
        text={isDone ? 'Copied' : 'Copy'}
        title={`Copy ${props.what ?? 'all'} as text`}
        onClick={copy}
      />
      <span className="jp-jxk-hidden" role="status">
        {isDone ? 'Copied as text' : ''}
      </span>
    </>
  );
}

/** A box to search with, and how much was found. */
export function SearchBox(props: {
  readonly label: string;
  readonly words: string;
  readonly found: string;
  readonly onWords: (words: string) => void;
  readonly onNext?: (step: 1 | -1) => void;
}): React.JSX.Element {
  return (
    <span className="jp-jxk-search" data-lm-suppress-shortcuts="true">
      <input
        type="search"
        aria-label={props.label}
        placeholder="search"
        value={props.words}
        onChange={event => props.onWords(event.target.value)}
        onKeyDown={event => {
          if (event.key === 'Enter') {
            event.preventDefault();
            props.onNext?.(event.shiftKey ? -1 : 1);
          }
        }}
      />
      <span className="jp-jxk-dim" role="status">
        {props.found}
      </span>
    </span>
  );
}

/** A text with what was searched for marked. */
export function Marked(props: {
  readonly text: string;
  readonly words: string;
}): React.JSX.Element {
  if (!props.words.trim()) {
    return <>{props.text}</>;
  }
  return (
    <>
      {found(props.text, props.words).map((one, index) =>
        one.isFound ? <mark key={index}>{one.text}</mark> : one.text
      )}
    </>
  );
}
