/**
 * The panes that programs are shown in: equations, and lines of text linked to source lines.
 */

import React, { useEffect, useState } from 'react';

import { useSignal } from '../shared/hooks.ts';
import { Marked } from '../shared/controls.tsx';
import { VirtualList } from '../shared/virtual.tsx';
import { bytes, counted, flops } from '../shared/texts.ts';
import type { IPlaces } from '../tokens';
import type { LinkedLines } from './linked.ts';
import { keyOf } from './linked.ts';
import { indent } from './listing.ts';
import type { ProgramModel } from './model.ts';
import { partsOf } from './parts.ts';
import type { IRow } from './rows.ts';

/** A titled part of a view. */
export function Pane(props: {
  readonly title: string;
  readonly note?: string;
  readonly children: React.ReactNode;
}): React.JSX.Element {
  return (
    <section className="jp-jxk-pane" aria-label={props.title}>
      <header>
        <b>{props.title}</b>
        {props.note && <span className="jp-jxk-dim">{props.note}</span>}
      </header>
      {props.children}
    </section>
  );
}

/** The equations, as a tree. */
export function Equations(props: {
  readonly model: ProgramModel;
  readonly rows: number;
}): React.JSX.Element {
  const { model } = props;
  const { listing } = model;
  useSignal(model.changed);
  const { shown } = listing;
  const lit = model.places.current ? keyOf(model.places.current) : '';
  const active = listing.position(model.active);

  const fold = (index: number, isFolded: boolean): void =>
    model.change(one => one.fold(index, isFolded));

  const onKey = (event: React.KeyboardEvent, position: number): boolean => {
    const index = shown[position] ?? -1;
    if (index < 0) {
      return false;
    }
    if (event.key === 'ArrowRight' && listing.isFolded(index)) {
      fold(index, false);
    } else if (event.key === 'ArrowLeft' && listing.isFoldable(index) && !listing.isFolded(index)) {
      fold(index, true);
    } else if (event.key === 'ArrowLeft' && (listing.rows[index]?.parent ?? -1) >= 0) {
      model.show(listing.rows[listing.rows[index]?.parent ?? 0]?.number ?? 0);
    } else if (event.key === ' ' && listing.isFoldable(index)) {
      fold(index, !listing.isFolded(index));
    } else {
      return event.key === 'ArrowRight' || event.key === 'ArrowLeft';
    }
    return true;
  };

  return (
    <VirtualList
      count={shown.length}
      label={`equations of ${model.data.title}`}
      role="tree"
      active={active}
      onActive={position => model.select(shown[position] ?? -1)}
      onKey={onKey}
      reveal={{ index: active, request: model.request }}
      rows={props.rows}
      width={listing.width + 24}
      row={(position, id, style) => {
        const index = shown[position] as number;
        const row = listing.rows[index] as IRow;
        const { equation } = row;
        const isLit = !!equation?.line && keyOf(equation) === lit;
        const isFoldable = listing.isFoldable(index);
        return (
          <div
            key={index}
            id={id}
            style={style}
            role="treeitem"
            aria-level={indent(row) + 1}
            aria-selected={position === active}
            aria-expanded={isFoldable ? !listing.isFolded(index) : undefined}
            className={classes(isLit, position === active, index === listing.current)}
            onClick={() => model.select(index)}
            onDoubleClick={() => isFoldable && fold(index, !listing.isFolded(index))}
          >
            <span className="jp-jxk-number">{equation ? row.number : ''}</span>
            <span style={{ paddingInlineStart: `${2 * indent(row)}ch` }} />
            <span
              className="jp-jxk-twist"
              aria-hidden="true"
              onClick={event => {
                event.stopPropagation();
                fold(index, !listing.isFolded(index));
              }}
            >
              {isFoldable ? (listing.isFolded(index) ? '▸' : '▾') : ' '}
            </span>
            {equation ? (
              <EquationText row={row} words={listing.words} isFolded={listing.isFolded(index)} />
            ) : (
              <span className="jp-jxk-dim">{row.text}</span>
            )}
          </div>
        );
      }}
    />
  );
}

function EquationText(props: {
  readonly row: IRow;
  readonly words: string;
  readonly isFolded: boolean;
}): React.JSX.Element {
  const { row, words } = props;
  const { equation } = row;
  const inside = row.end - 1;
  const notes = [
    equation?.line ? `line ${equation.line}` : '',
    equation?.flops ? flops(equation.flops) : ''
  ].filter(Boolean);
  return (
    <>
      {partsOf(row.text).map((part, index) => (
        <span key={index} className={`jp-jxk-${part.kind}`} data-named={equation?.named}>
          <Marked text={part.text} words={words} />
        </span>
      ))}
      {props.isFolded && inside > 0 && <span className="jp-jxk-dim">{'  {…}'}</span>}
      <span className="jp-jxk-dim jp-jxk-notes">{notes.join(' · ')}</span>
    </>
  );
}

/** Lines of text; choosing one lights up what came from the same line of source. */
export function Lines(props: {
  readonly label: string;
  readonly lines: LinkedLines;
  readonly places: IPlaces;
  readonly rows: number;
  readonly words?: string;
  /** The line that a search has come to; -1 for none. */
  readonly sought?: number;
  /** What stands before a line. */
  readonly gutter?: (index: number) => string;
  readonly note?: (index: number) => string;
}): React.JSX.Element {
  const { lines, places, sought = -1 } = props;
  const [active, setActive] = useState(-1);
  const [request, setRequest] = useState({ index: -1, request: 0 });
  useSignal(places.changed);
  const lit = new Set(lines.of(places.current));

  useEffect(() => {
    const [first] = lines.of(places.current);
    if (first !== undefined && !lit.has(active)) {
      setActive(first);
      setRequest(before => ({ index: first, request: before.request + 1 }));
    }
  }, [places.current]);

  useEffect(() => {
    if (sought >= 0) {
      setActive(sought);
      setRequest(before => ({ index: sought, request: before.request + 1 }));
    }
  }, [sought]);

  const select = (index: number): void => {
    setActive(index);
    const line = lines.lines[index];
    if (line?.line) {
      places.select({ file: line.file, line: line.line });
    }
  };
  return (
    <VirtualList
      count={lines.lines.length}
      label={props.label}
      role="listbox"
      active={active}
      onActive={select}
      reveal={request}
      rows={props.rows}
      width={lines.width + 12}
      row={(index, id, style) => (
        <div
          key={index}
          id={id}
          style={style}
          role="option"
          aria-selected={index === active}
          className={classes(lit.has(index), index === active, index === sought)}
          onClick={() => select(index)}
        >
          <span className="jp-jxk-number">{props.gutter?.(index) ?? ''}</span>
          <span>
            <Marked text={lines.lines[index]?.text ?? ''} words={props.words ?? ''} />
          </span>
          <span className="jp-jxk-dim jp-jxk-notes">{props.note?.(index)}</span>
        </div>
      )}
    />
  );
}

/** The source lines of a program. */
export function Source(props: {
  readonly model: ProgramModel;
  readonly rows: number;
}): React.JSX.Element {
  const { source } = props.model.data;
  return (
    <Lines
      label="source"
      lines={props.model.source}
      places={props.model.places}
      rows={props.rows}
      gutter={index => String(source[index]?.line ?? '')}
      note={index => {
        const line = source[index];
        if (!line?.equations) {
          return '';
        }
        return counted(line.equations, 'eqn') + (line.flops ? `, ${flops(line.flops)}` : '');
      }}
    />
  );
}

/** What a program costs, in a few words. */
export function costOf(model: ProgramModel): string {
  const { count, flops: operations, bytes: moved } = model.data;
  return `${counted(count, 'equation')} · ${flops(operations)}, ${bytes(moved)} before fusion`;
}

function classes(isLit: boolean, isActive: boolean, isCurrent: boolean): string {
  return [
    'jp-jxk-row',
    isLit && 'jp-mod-lit',
    isActive && 'jp-mod-active',
    isCurrent && 'jp-mod-current'
  ]
    .filter(Boolean)
    .join(' ');
}
