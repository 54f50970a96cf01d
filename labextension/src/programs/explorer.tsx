/**
 * The jaxpr explorer: source and equations beside each other, search, steps, graph.
 */

import React, { Suspense, lazy, useEffect, useState } from 'react';

import { Button, CopyButton, SearchBox } from '../shared/controls.tsx';
import { useSignal } from '../shared/hooks.ts';
import type { ProgramModel } from './model.ts';
import { Equations, Pane, Source, costOf } from './panes.tsx';

/** Laid out by a library that is loaded when the first graph is asked for. */
const Graph = lazy(() => import('./graph'));

/** How many rows a pane has at most. */
const ROWS = 26;

const STEP_MILLISECONDS = 400;

/** Draws a program. */
export function Explorer(props: {
  readonly model: ProgramModel;
  readonly text: string;
}): React.JSX.Element {
  const { model } = props;
  const { comparison } = model;
  const [hasGraph, setGraph] = useState(false);
  useSignal(model.changed);
  const isWhole = model.leftOut === 0;
  return (
    <div className="jp-jxk-Program">
      <div className="jp-jxk-bar">
        <b>{model.data.title}</b>
        <span className="jp-jxk-dim">{costOf(model)}</span>
      </div>
      <Stack names={model.data.stack} />
      <Controls model={model} text={() => (isWhole && props.text) || model.listing.text()}>
        <Button text="Graph" isOn={hasGraph} onClick={() => setGraph(!hasGraph)} />
        {comparison && (
          <Button
            text="Compare…"
            title="Compare… with another program that the kernel keeps"
            isOn={comparison.isOffered}
            onClick={() => void comparison.offer()}
          />
        )}
      </Controls>
      {comparison?.choice()}
      <div className="jp-jxk-panes">
        {model.data.source.length > 0 && (
          <Pane title="Source">
            <Source model={model} rows={ROWS} />
          </Pane>
        )}
        <Pane title="jaxpr">
          <Equations model={model} rows={ROWS} />
        </Pane>
        {hasGraph && (
          <Pane title="Graph">
            <Suspense fallback={<div className="jp-jxk-dim">laying out …</div>}>
              <Graph model={model} />
            </Suspense>
          </Pane>
        )}
      </div>
      {comparison?.difference()}
      <Rest model={model} />
    </div>
  );
}

/** A function and the transforms applied to it. */
function Stack(props: { readonly names: readonly string[] }): React.JSX.Element | null {
  const { names } = props;
  if (names.length < 2 || (names.length === 2 && names[1] === 'jit')) {
    return null;
  }
  return (
    <ol className="jp-jxk-stack" aria-label="transforms, innermost first">
      {names.map((name, index) => (
        <li key={index}>{name}</li>
      ))}
    </ol>
  );
}

/** Says what is left out, and asks the kernel for it when clicked. */
export function Rest(props: { readonly model: ProgramModel }): React.JSX.Element | null {
  const { model } = props;
  if (!model.leftOut && !model.notice) {
    return null;
  }
  return (
    <div className="jp-jxk-bar" role="status">
      {model.leftOut > 0 && (
        <span>
          {`${model.listing.count.toLocaleString('en')} of ` +
            `${model.data.count.toLocaleString('en')} equations are ` +
            (model.isLoaded ? 'listed.' : 'kept in the notebook.')}
        </span>
      )}
      {model.canLoad && <Button text="Show all" onClick={() => void model.load()} />}
      <span className="jp-jxk-dim">{model.notice}</span>
    </div>
  );
}

/** Search, folding, steps and copying. */
function Controls(props: {
  readonly model: ProgramModel;
  readonly text: () => string;
  readonly children: React.ReactNode;
}): React.JSX.Element {
  const { model } = props;
  const { listing } = model;
  const isFiltered = !!listing.words.trim();
  return (
    <div className="jp-jxk-bar" role="group" aria-label="controls">
      <SearchBox
        label="search in the equations"
        words={listing.words}
        found={isFiltered ? `${listing.found} of ${listing.count}` : ''}
        onWords={words => model.change(one => (one.words = words))}
      />
      <Button text="Fold" onClick={() => model.change(one => one.foldAll())} />
      <Button text="Unfold" onClick={() => model.change(one => one.unfoldAll())} />
      <Steps model={model} />
      {props.children}
      <CopyButton text={props.text} />
    </div>
  );
}

/** Steps through the trace as it grew. */
function Steps(props: { readonly model: ProgramModel }): React.JSX.Element {
  const { model } = props;
  const { listing } = model;
  const [isPlaying, setPlaying] = useState(false);
  const go = (step: number): void => model.change(one => (one.step = step));

  useEffect(() => {
    if (!isPlaying) {
      return;
    }
    const timer = window.setInterval(() => {
      go(model.listing.step + 1);
      if (model.listing.step >= model.listing.count) {
        setPlaying(false);
      }
    }, STEP_MILLISECONDS);
    return () => window.clearInterval(timer);
  }, [isPlaying, model]);

  const play = (): void => {
    if (!isPlaying && listing.step >= listing.count) {
      go(0);
    }
    setPlaying(!isPlaying);
  };
  return (
    <span className="jp-jxk-steps" role="group" aria-label="steps of the trace">
      <Button text="◂" title="One equation back" onClick={() => go(listing.step - 1)} />
      <Button
        text={isPlaying ? '❚❚' : '▶'}
        title={isPlaying ? 'Stop' : 'Play the trace'}
        onClick={play}
      />
      <Button text="▸" title="One equation on" onClick={() => go(listing.step + 1)} />
      <input
        type="range"
        aria-label="equations traced"
        aria-valuetext={`${listing.step} of ${listing.count}`}
        data-lm-suppress-shortcuts="true"
        min={0}
        max={listing.count}
        value={listing.step}
        onChange={event => go(Number(event.target.value))}
      />
      <span className="jp-jxk-dim jp-jxk-digits">{`${listing.step}/${listing.count}`}</span>
    </span>
  );
}
