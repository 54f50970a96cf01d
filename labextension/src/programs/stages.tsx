/**
 * A program at four stages beside each other, linked by source line.
 */

import React, { useMemo, useState } from 'react';

import type { StagesPayload } from '../protocol';
import { Button, CopyButton, SearchBox } from '../shared/controls.tsx';
import { useSignal } from '../shared/hooks.ts';
import { counted } from '../shared/texts.ts';
import { LinkedLines } from './linked.ts';
import type { ProgramModel } from './model.ts';
import { Equations, Lines, Pane, Source } from './panes.tsx';
import { Rest } from './explorer.tsx';

const ROWS = 22;
const NAMES = ['Source', 'jaxpr', 'StableHLO', 'Optimized HLO'] as const;

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
  const modules = useMemo(
    () => [
      { name: 'StableHLO', lines: new LinkedLines(data.stablehlo) },
      { name: 'Optimized HLO', lines: new LinkedLines(data.optimized) }
    ],
    [data]
  );
  const places = useMemo(
    () =>
      modules.flatMap(({ name, lines }) =>
        lines.matching(words).map(index => ({ pane: name, index }))
      ),
    [words, modules]
  );
  const current = places[at];
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
        <b>{`Stages of ${data.jaxpr.title}`}</b>
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
        {!hidden.has('Source') && (
          <Pane title="Source">
            <Source model={model} rows={ROWS} />
          </Pane>
        )}
        {!hidden.has('jaxpr') && (
          <Pane title="jaxpr" note={counted(data.jaxpr.count, 'equation')}>
            <Equations model={model} rows={ROWS} />
          </Pane>
        )}
        {modules.map(
          ({ name, lines }) =>
            !hidden.has(name) && (
              <Pane key={name} title={name} note={counted(lines.lines.length, 'line')}>
                <Lines
                  label={name}
                  lines={lines}
                  places={model.places}
                  rows={ROWS}
                  words={words}
                  sought={current?.pane === name ? current.index : -1}
                  gutter={index => String(lines.lines[index]?.line || '')}
                />
              </Pane>
            )
        )}
      </div>
      {data.left_out > 0 && (
        <div className="jp-jxk-dim">{`… ${counted(data.left_out, 'more line')} of the modules`}</div>
      )}
      <Rest model={model} />
    </div>
  );
}
