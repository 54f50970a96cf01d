/**
 * The map of traced and static: each function's source with its marks, and where names come from.
 */

import React, { useEffect, useMemo, useState } from 'react';

import type { FunctionMapPayload, NameFact, ProvenancePayload } from '../protocol';
import { CopyButton } from '../shared/controls.tsx';
import { explained } from './explaining.ts';
import type { IPlacedMark } from './marks.ts';
import { LETTERS, marksAt } from './marks.ts';
import { Table } from '../shared/table.tsx';
import type { IPlaces } from '../tokens';
import type { ISegment } from './segments.ts';
import { chainLines, markedFunction, NAME_COLUMNS } from './segments.ts';

/** Draws the map. */
export function SourceMap(props: {
  readonly data: ProvenancePayload;
  readonly text: string;
  readonly places: IPlaces | null;
}): React.JSX.Element {
  const { data } = props;
  if (!data.functions.length) {
    return <pre className="jp-jxk-dim">{props.text}</pre>;
  }
  return (
    <div className="jp-jxk-SourceMap">
      <div className="jp-jxk-bar">
        <span className="jp-jxk-dim">{data.legend}</span>
        <CopyButton text={() => props.text} />
      </div>
      {data.functions.map((one, index) => (
        <FunctionMap key={index} map={one} places={props.places} isOpen={index === 0} />
      ))}
    </div>
  );
}

function FunctionMap(props: {
  readonly map: FunctionMapPayload;
  readonly places: IPlaces | null;
  readonly isOpen: boolean;
}): React.JSX.Element {
  const { map, places } = props;
  const [isOpen, setOpen] = useState(props.isOpen);
  const [chosen, setChosen] = useState<IPlacedMark | null>(null);
  const [pointed, setPointed] = useState<IPlacedMark | null>(null);
  const marked = useMemo(() => markedFunction(map), [map]);
  const line = useLine(places, map.file);
  const shown = pointed ?? chosen;
  const fact = map.names.find(one => one.name === shown?.mark.code) ?? null;
  const chain = chainLines(fact);
  const chooseName = (index: number): void => {
    const name = map.names[index]?.name;
    setChosen(marked.marks.find(one => one.mark.isName && one.mark.code === name) ?? null);
  };
  const chooseMark = (mark: IPlacedMark): void => {
    setChosen(mark);
    places?.select({ file: map.file, line: mark.mark.number });
  };
  return (
    <details open={isOpen} onToggle={event => setOpen(event.currentTarget.open)}>
      <summary>{marked.title}</summary>
      {isOpen && (
        <>
          <div
            className="jp-jxk-source"
            role="group"
            aria-label={`source of ${marked.title}`}
            onMouseLeave={() => setPointed(null)}
          >
            {marked.lines.map(one => (
              <div
                key={one.number}
                className={`jp-jxk-sourceLine${one.number === line ? ' jp-mod-lit' : ''}`}
                data-chain={chain.get(one.number)}
                onClick={() => places?.select({ file: map.file, line: one.number })}
              >
                <span className="jp-jxk-number">{one.number}</span>
                <Segments
                  segments={one.segments}
                  name={shown?.mark.code ?? ''}
                  onPointed={setPointed}
                  onChosen={chooseMark}
                />
              </div>
            ))}
          </div>
          <div className="jp-jxk-facts" aria-live="polite">
            {shown ? (
              <Explanation marks={marked.marks} shown={shown} />
            ) : (
              <span className="jp-jxk-dim">
                Point at a mark, or choose a name below: what it is and where it comes from.
              </span>
            )}
          </div>
          {map.names.length > 0 && (
            <Table<NameFact>
              label={`names of ${marked.title}`}
              rows={map.names}
              columns={NAME_COLUMNS}
              chosen={chosen ? map.names.findIndex(one => one.name === chosen.mark.code) : -1}
              onChosen={chooseName}
              most={8}
            />
          )}
          <Notes map={map} />
        </>
      )}
    </details>
  );
}

/** The line of a file that is lit up. */
function useLine(places: IPlaces | null, file: string): number {
  const [line, setLine] = useState(0);
  useEffect(() => {
    const follow = (): void =>
      setLine(places?.current?.file === file ? places.current.line : 0);
    follow();
    places?.changed.connect(follow);
    return () => {
      places?.changed.disconnect(follow);
    };
  }, [places, file]);
  return line;
}

function Segments(props: {
  readonly segments: readonly ISegment[];
  readonly name: string;
  readonly onPointed: (mark: IPlacedMark) => void;
  readonly onChosen: (mark: IPlacedMark) => void;
}): React.JSX.Element {
  return (
    <>
      {props.segments.map((one, index) => {
        const { mark } = one;
        if (!mark) {
          return <React.Fragment key={index}>{one.text}</React.Fragment>;
        }
        const isLit = mark.mark.isName && mark.mark.code === props.name;
        return (
          <span
            key={index}
            className={`jp-jxk-mark jp-jxk-${mark.mark.kind}${isLit ? ' jp-mod-lit' : ''}`}
            data-jxk={mark.label}
            onMouseOver={event => {
              event.stopPropagation();
              props.onPointed(mark);
            }}
            onClick={event => {
              event.stopPropagation();
              props.onChosen(mark);
            }}
          >
            {one.inner.length ? <Segments {...props} segments={one.inner} /> : one.text}
          </span>
        );
      })}
    </>
  );
}

/** What a mark is, and the expressions that it stands in. */
function Explanation(props: {
  readonly marks: readonly IPlacedMark[];
  readonly shown: IPlacedMark;
}): React.JSX.Element {
  const { marks, shown } = props;
  const around = marksAt(marks, shown.from).filter(
    one => one.from <= shown.from && one.to >= shown.to
  );
  return (
    <>
      {around.slice(0, 3).map((one, index) => {
        const { letter, kind, code, what, lines } = explained(one);
        return (
          <div key={index} className={`jp-jxk-whyOne jp-jxk-${kind}`}>
            <div>
              <b>{letter}</b> <code>{code}</code> {what}
            </div>
            {lines.map((line, at) => (
              <div key={at}>{line}</div>
            ))}
          </div>
        );
      })}
    </>
  );
}

/** Side effects and unrolled loops, which need a change of the code. */
function Notes(props: { readonly map: FunctionMapPayload }): React.JSX.Element {
  const { map } = props;
  const effects = map.marks.filter(one => one.kind === 'effect');
  return (
    <>
      {effects.map((one, index) => (
        <div key={`!${index}`} className="jp-jxk-note">
          {`${LETTERS.effect} line ${one.line}: `}
          <code>{one.code}</code> {one.detail}
        </div>
      ))}
      {map.loops.map((one, index) => (
        <div key={index} className="jp-jxk-note">
          {`${LETTERS.loop} line ${one.line} was unrolled: ${one.times} rounds made ${one.equations} equations; instead:`}
          <pre>{one.rewrite || one.instead}</pre>
        </div>
      ))}
    </>
  );
}
