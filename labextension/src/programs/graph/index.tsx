/**
 * The graph of one program of a jaxpr: a node opens the programs inside it.
 *
 * Sections are laid out when they come into sight, so a long program costs no more than a short one.
 */

import React, { useEffect, useMemo, useRef, useState } from 'react';

import type { ProgramModel } from '../model.ts';
import { keyOf } from '../linked.ts';
import type { ProgramPayload } from '../../protocol';
import { Button } from '../../shared/controls.tsx';
import { useSignal } from '../../shared/hooks.ts';
import { counted } from '../../shared/texts.ts';
import type { ILayout, IPlaced } from './layout.ts';
import { layOut } from './layout.ts';
import type { ISection } from './nodes.ts';
import { programsIn, sectionsOf } from './nodes.ts';

/** The height of a section that was not laid out yet, for each of its nodes. */
const GUESS = 34;

const ZOOMS = [0.35, 0.5, 0.7, 0.85, 1, 1.25];

let graphs = 0;

/** Draws a program as a graph. */
export default function Graph(props: { readonly model: ProgramModel }): React.JSX.Element {
  const { model } = props;
  const { data } = model;
  const [way, setWay] = useState<readonly ProgramPayload[]>([]);
  const [zoom, setZoom] = useState(4);
  const [id] = useState(() => `jp-jxk-graph-${++graphs}`);
  const canvas = useRef<HTMLDivElement>(null);
  useEffect(() => canvas.current?.scrollIntoView({ block: 'nearest' }), []);
  useSignal(model.changed);
  useEffect(() => setWay([]), [data]);

  const program = way.at(-1) ?? data.programs[0];
  const sections = useMemo(() => (program ? sectionsOf(data, program) : []), [data, program]);
  const numbers = useMemo(
    () => sections.flatMap(one => one.nodes.map(each => each.number).filter(Boolean)),
    [sections]
  );
  const active = model.listing.rows[model.active]?.equation?.number ?? 0;

  const open = (number: number, which = 0): void => {
    const inner = programsIn(data, number)[which];
    if (inner) {
      setWay([...way, inner]);
    }
  };
  const onKeyDown = (event: React.KeyboardEvent): void => {
    const at = numbers.indexOf(active);
    const moves: Record<string, number> = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0 };
    const next = numbers[moves[event.key] ?? -1];
    if (next !== undefined) {
      model.show(next);
    } else if (event.key === 'Enter') {
      open(active);
    } else if (event.key === 'Backspace' && way.length) {
      setWay(way.slice(0, -1));
    } else {
      return;
    }
    event.preventDefault();
  };
  const inside = programsIn(data, active).filter(() => numbers.includes(active));
  return (
    <div>
      <div className="jp-jxk-bar">
        <nav aria-label="programs around this one" className="jp-jxk-way">
          <Button text={data.title} isDisabled={!way.length} onClick={() => setWay([])} />
          {way.map((one, index) => (
            <React.Fragment key={index}>
              {' › '}
              <Button
                text={nameOf(model, one)}
                isDisabled={index === way.length - 1}
                onClick={() => setWay(way.slice(0, index + 1))}
              />
            </React.Fragment>
          ))}
        </nav>
        <Button
          text="−"
          title="Smaller"
          isDisabled={zoom === 0}
          onClick={() => setZoom(zoom - 1)}
        />
        <Button
          text="+"
          title="Larger"
          isDisabled={zoom === ZOOMS.length - 1}
          onClick={() => setZoom(zoom + 1)}
        />
        {inside.map((one, index) => (
          <Button
            key={index}
            text={`Open ${nameOf(model, one)}`}
            onClick={() => open(active, index)}
          />
        ))}
        <span className="jp-jxk-dim">
          round: arguments and results · box: operation · double box: holds programs, Enter opens it
        </span>
      </div>
      <div
        ref={canvas}
        className="jp-jxk-canvas"
        role="listbox"
        aria-label={`graph of ${program ? nameOf(model, program) : data.title}`}
        aria-activedescendant={numbers.includes(active) ? `${id}-${active}` : undefined}
        tabIndex={0}
        data-lm-suppress-shortcuts="true"
        onKeyDown={onKeyDown}
      >
        {sections.map((section, index) => (
          <Section
            key={`${way.length}-${program?.first}-${index}`}
            section={section}
            before={index * 100}
            model={model}
            zoom={ZOOMS[zoom] ?? 1}
            id={id}
            active={active}
            onOpen={open}
          />
        ))}
      </div>
    </div>
  );
}

function nameOf(model: ProgramModel, program: ProgramPayload): string {
  const around = model.data.equations[program.equation - 1];
  return around ? `${around.primitive} ${program.label}` : model.data.title;
}

/** A part of the graph, laid out when it comes into sight. */
function Section(props: {
  readonly section: ISection;
  readonly before: number;
  readonly model: ProgramModel;
  readonly zoom: number;
  readonly id: string;
  readonly active: number;
  readonly onOpen: (number: number) => void;
}): React.JSX.Element {
  const { section, zoom, active } = props;
  const box = useRef<HTMLDivElement>(null);
  const [laid, setLaid] = useState<ILayout | null>(null);
  const holdsActive = active > 0 && section.nodes.some(one => one.number === active);

  useEffect(() => {
    const node = box.current;
    if (!node || laid) {
      return;
    }
    const observer = new IntersectionObserver(
      entries => {
        if (entries.some(one => one.isIntersecting)) {
          observer.disconnect();
          setLaid(layOut(section));
        }
      },
      { rootMargin: '300px' }
    );
    observer.observe(node);
    return () => observer.disconnect();
  }, [section, laid]);

  useEffect(() => {
    if (!holdsActive) {
      return;
    }
    const placed = laid?.nodes.find(one => one.node.number === active);
    const canvas = box.current?.parentElement;
    if (!laid || !placed || !canvas || !box.current) {
      setLaid(layOut(section));
      return;
    }
    bring(canvas, box.current.offsetTop + placed.y * zoom, placed.x * zoom);
  }, [active, holdsActive, laid]);

  const height = laid ? laid.height * zoom : section.nodes.length * GUESS * zoom;
  const first = section.nodes.find(one => one.number)?.number;
  const last = section.nodes.findLast(one => one.number)?.number;
  return (
    <div ref={box} role="presentation" className="jp-jxk-section" style={{ height }}>
      {props.before > 0 && (
        <div className="jp-jxk-dim jp-jxk-seam">{`equations ${first} to ${last}`}</div>
      )}
      {laid && (
        <svg
          role="presentation"
          width={laid.width * zoom}
          height={laid.height * zoom}
          viewBox={`0 0 ${laid.width} ${laid.height}`}
        >
          {laid.edges.map((path, index) => (
            <path key={index} d={path} className="jp-jxk-wire" />
          ))}
          {laid.nodes.map(one => (
            <Node key={one.node.id} placed={one} {...props} />
          ))}
        </svg>
      )}
      {!laid && <div className="jp-jxk-dim">{counted(section.nodes.length, 'node')}</div>}
    </div>
  );
}

function Node(props: {
  readonly placed: IPlaced;
  readonly model: ProgramModel;
  readonly id: string;
  readonly active: number;
  readonly onOpen: (number: number) => void;
}): React.JSX.Element {
  const { placed, model } = props;
  const { node, width, height } = placed;
  const equation = node.number ? model.data.equations[node.number - 1] : undefined;
  const { current } = model.places;
  const isLit = !!equation?.line && !!current && keyOf(equation) === keyOf(current);
  const isActive = node.number > 0 && node.number === props.active;
  const isFaded = node.number > model.listing.step;
  const round = node.kind === 'input' || node.kind === 'result' ? height / 2 : 3;
  return (
    <g
      id={node.number ? `${props.id}-${node.number}` : undefined}
      role="option"
      aria-selected={isActive}
      aria-label={`${node.label} ${placed.notes.join(', ')}`}
      className={`jp-jxk-node jp-mod-${node.kind}${isLit ? ' jp-mod-lit' : ''}${
        isActive ? ' jp-mod-active' : ''
      }`}
      opacity={isFaded ? 0.25 : 1}
      transform={`translate(${placed.x - width / 2},${placed.y - height / 2})`}
      onClick={() => node.number && model.show(node.number)}
      onDoubleClick={() => node.kind === 'program' && props.onOpen(node.number)}
    >
      <title>{equation?.text ?? node.label}</title>
      <rect width={width} height={height} rx={round} />
      {node.kind === 'program' && (
        <rect x={3} y={3} width={width - 6} height={height - 6} rx={2} className="jp-jxk-inner" />
      )}
      <text x={width / 2} y={17}>
        {node.label}
      </text>
      {placed.notes.map((note, index) => (
        <text key={index} x={width / 2} y={31 + 14 * index} className="jp-jxk-small">
          {note}
        </text>
      ))}
    </g>
  );
}

/** Scrolls a point into sight, if it is not. */
function bring(canvas: HTMLElement, y: number, x: number): void {
  const isAbove = y < canvas.scrollTop + 20;
  const isBelow = y > canvas.scrollTop + canvas.clientHeight - 40;
  if (isAbove || isBelow) {
    canvas.scrollTop = y - canvas.clientHeight / 2;
  }
  if (x < canvas.scrollLeft || x > canvas.scrollLeft + canvas.clientWidth) {
    canvas.scrollLeft = x - canvas.clientWidth / 2;
  }
}
