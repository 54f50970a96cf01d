/**
 * A program at four stages beside each other, linked by source line.
 */

import React, { useMemo, useState } from 'react';

import type { StagesPayload } from '../protocol';
import { Button, CopyButton, SearchBox } from '../shared/controls.tsx';
import { useSignal } from '../shared/hooks.ts';
import { counted } from '../shared/words.ts';
import { LinkedLines } from './linked.ts';
import type { ProgramModel } from './model.ts';
import { Equations, Lines, Pane, Source } from './panes.tsx';
import { Rest } from './explorer.tsx';

const ROWS = 22;
const NAMES = ['source', 'jaxpr', 'StableHLO', 'optimized HLO'] as const;

/** Draws the four panes, any of which can be left out. */
export function Stages(props: {
  readonly model: ProgramModel;
  readonly data: StagesPayload;
  readonly text: string;
}): React.JSX.Element {
  const { model, data } = props;
  const [words, setWords] = useState('');
  const [at, setAt] = useState(0);
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  useSignal(model.changed);
  const stablehlo = useMemo(() => new LinkedLines(data.stablehlo), [data]);
  const optimized = useMemo(() => new LinkedLines(data.optimized), [data]);
  const places = useMemo(
    () => [
      ...stablehlo.matching(words).map(index => ({ pane: 'StableHLO', index })),
      ...optimized.matching(words).map(index => ({ pane: 'optimized HLO', index }))
    ],
    [words, stablehlo, optimized]
  );
  const current = places[at];
  const sought = (pane: string): number => (current?.pane === pane ? current.index : -1);
  const toggle = (name: string): void => {
    const next = new Set(hidden);
    if (!next.delete(name)) {
      next.add(name);
    }
    setHidden(next);
  };
  const search = (next: string): void => {
    setWords(next);
    setAt(0);
    model.change(listing => (listing.words = next));
  };
  const inEquations = words.trim() ? model.listing.found : 0;
  const found = places.length + inEquations;
  return (
    <div className="jp-jxk-Program">
      <div className="jp-jxk-bar" role="group" aria-label="controls">
        <b>{`stages of ${data.jaxpr.title}`}</b>
        <SearchBox
          label="search in all stages"
          words={words}
          found={words.trim() ? counted(found, 'place') : ''}
          onWords={search}
          onNext={step => setAt((at + step + places.length) % Math.max(places.length, 1))}
        />
        <span role="group" aria-label="stages shown">
          {NAMES.map(name => (
            <Button key={name} text={name} isOn={!hidden.has(name)} onClick={() => toggle(name)} />
          ))}
        </span>
        <CopyButton text={() => props.text} />
      </div>
      <div className="jp-jxk-panes jp-mod-stages">
        {!hidden.has('source') && (
          <Pane title="source">
            <Source model={model} rows={ROWS} />
          </Pane>
        )}
        {!hidden.has('jaxpr') && (
          <Pane title="jaxpr" note={counted(data.jaxpr.count, 'equation')}>
            <Equations model={model} rows={ROWS} />
          </Pane>
        )}
        {!hidden.has('StableHLO') && (
          <Pane title="StableHLO" note={counted(data.stablehlo.length, 'line')}>
            <Lines
              label="StableHLO"
              lines={stablehlo}
              places={model.places}
              rows={ROWS}
              words={words}
              sought={sought('StableHLO')}
              gutter={index => lineOf(stablehlo, index)}
            />
          </Pane>
        )}
        {!hidden.has('optimized HLO') && (
          <Pane title="optimized HLO" note={counted(data.optimized.length, 'line')}>
            <Lines
              label="optimized HLO"
              lines={optimized}
              places={model.places}
              rows={ROWS}
              words={words}
              sought={sought('optimized HLO')}
              gutter={index => lineOf(optimized, index)}
            />
          </Pane>
        )}
      </div>
      {data.left_out > 0 && (
        <div className="jp-jxk-dim">{`… ${counted(data.left_out, 'more line')} of the modules`}</div>
      )}
      <Rest model={model} />
    </div>
  );
}

function lineOf(lines: LinkedLines, index: number): string {
  return String(lines.lines[index]?.line || '');
}
