/**
 * A profile: lanes of what ran on devices and in the host, and the source lines it was for.
 */

import React, { useEffect, useMemo, useRef, useState } from 'react';

import type { ShareLinePayload, SlicePayload, TimelinePayload } from '../protocol';
import { Button, CopyButton } from '../shared/controls.tsx';
import { useWidth } from '../shared/hooks.ts';
import type { IColumn } from '../shared/sorting.ts';
import { Table } from '../shared/table.tsx';
import { duration } from '../shared/texts.ts';
import type { IDrawnTimeline, IWindow } from './lanes.ts';
import { drawnTimeline, moved, zoomed } from './lanes.ts';

const LEFT = 130;
const ROW = 18;
const LINES: readonly IColumn<ShareLinePayload>[] = [
  { title: 'Line', width: 24, text: row => row.line || 'no line of yours' },
  { title: 'Source', width: 0, text: row => row.source },
  {
    title: 'Time on devices',
    width: 18,
    text: row => duration(row.total_ns),
    key: row => row.total_ns,
    bar: row => row.share
  },
  {
    title: 'Share',
    width: 8,
    isNumeric: true,
    isMinor: true,
    text: row => `${(row.share * 100).toFixed(1)} %`,
    key: row => row.share
  }
];

/** Draws the timeline. */
export function Timeline(props: {
  readonly data: TimelinePayload;
  readonly text: string;
}): React.JSX.Element {
  const { data } = props;
  const drawn = useMemo(() => drawnTimeline(data.lanes), [data]);
  const [window, setWindow] = useState<IWindow>({ start: 0, length: drawn.length });
  const [line, setLine] = useState<string | null>(null);
  const [slice, setSlice] = useState<SlicePayload | null>(null);
  const choose = (one: SlicePayload): void => {
    setSlice(one);
    setLine(one.spots.find(spot => data.lines.some(row => row.line === spot)) ?? null);
  };
  const heading = `${duration(data.duration_ns)} recorded, ${duration(data.device_ns)} of operations on devices`;
  const zoom = (factor: number, about = 0.5): void =>
    setWindow(zoomed(window, factor, about, drawn.length));
  const move = (part: number): void => setWindow(moved(window, part, drawn.length));
  return (
    <div className="jp-jxk-Timeline">
      <div className="jp-jxk-bar" role="group" aria-label="controls of the timeline">
        <b>{heading}</b>
        <Button text="+" title="Zoom in (+)" onClick={() => zoom(0.5)} />
        <Button text="−" title="Zoom out (-)" onClick={() => zoom(2)} />
        <Button text="←" title="Earlier (left arrow)" onClick={() => move(-0.4)} />
        <Button text="→" title="Later (right arrow)" onClick={() => move(0.4)} />
        <Button
          text="All"
          title="All of it (0)"
          onClick={() => setWindow({ start: 0, length: drawn.length })}
        />
        <CopyButton text={() => props.text} />
      </div>
      <Lanes
        drawn={drawn}
        window={window}
        line={line}
        slice={slice}
        onSlice={choose}
        onZoom={zoom}
        onMove={move}
        onAll={() => setWindow({ start: 0, length: drawn.length })}
      />
      <div aria-live="polite">{slice && <SliceFacts slice={slice} />}</div>
      <Table
        label="lines of source"
        rows={data.lines}
        columns={LINES}
        chosen={line === null ? -1 : data.lines.findIndex(row => row.line === line)}
        onChosen={index => {
          setLine(data.lines[index]?.line ?? null);
          setSlice(null);
        }}
        most={8}
      />
      {data.files.length > 0 && (
        <div className="jp-jxk-dim">{`written to ${data.files.join(', ')}`}</div>
      )}
    </div>
  );
}

function Lanes(props: {
  readonly drawn: IDrawnTimeline;
  readonly window: IWindow;
  readonly line: string | null;
  readonly slice: SlicePayload | null;
  readonly onSlice: (slice: SlicePayload) => void;
  readonly onZoom: (factor: number, about?: number) => void;
  readonly onMove: (part: number) => void;
  readonly onAll: () => void;
}): React.JSX.Element {
  const { drawn, window, line } = props;
  const svg = useRef<SVGSVGElement>(null);
  const width = useWidth(svg);
  const zoom = useRef(props.onZoom);
  zoom.current = props.onZoom;
  useEffect(() => {
    // React's own listener is passive: the page would scroll too.
    const onWheel = (event: WheelEvent): void => {
      if (event.ctrlKey || event.metaKey) {
        event.preventDefault();
        const box = (event.currentTarget as Element).getBoundingClientRect();
        const x = event.clientX - box.left;
        const about = Math.min(Math.max((x - LEFT) / (box.width - LEFT - 10), 0), 1);
        zoom.current(event.deltaY > 0 ? 1.25 : 0.8, about);
      }
    };
    const node = svg.current;
    node?.addEventListener('wheel', onWheel, { passive: false });
    return () => node?.removeEventListener('wheel', onWheel);
  }, []);
  const keys: Record<string, () => void> = {
    '+': () => props.onZoom(0.5),
    '=': () => props.onZoom(0.5),
    '-': () => props.onZoom(2),
    '0': props.onAll,
    ArrowLeft: () => props.onMove(-0.2),
    ArrowRight: () => props.onMove(0.2)
  };
  const scale = (width - LEFT - 10) / (window.length || 1);
  const end = window.start + window.length;
  let y = 16;
  const lanes = drawn.lanes.map(lane => {
    const top = y;
    y += lane.rows * ROW + 6;
    return { lane, top };
  });
  return (
    <svg
      ref={svg}
      className="jp-jxk-chart"
      viewBox={`0 0 ${width} ${y}`}
      role="img"
      tabIndex={0}
      aria-label={`timeline of ${drawn.lanes.map(one => `${one.name}: ${one.slices.length} stretches`).join(', ')}; plus and minus zoom, arrows move; the table below says where the time went`}
      data-lm-suppress-shortcuts="true"
      onKeyDown={event => {
        const act = keys[event.key];
        if (act && !event.ctrlKey && !event.metaKey && !event.altKey) {
          event.preventDefault();
          event.stopPropagation();
          act();
        }
      }}
    >
      <text x={LEFT} y={10} className="jp-jxk-small">
        {`+${duration(window.start)}`}
      </text>
      <text x={width - 10} y={10} textAnchor="end" className="jp-jxk-small">
        {`${duration(window.length)} shown`}
      </text>
      {drawn.cuts
        .filter(one => one.at >= window.start && one.at <= end)
        .map((one, index) => (
          <path
            key={index}
            className="jp-jxk-axis"
            strokeDasharray="2 3"
            d={`M${LEFT + (one.at - window.start) * scale} 12V${y}`}
          >
            <title>{`${duration(one.idle)} idle, left out`}</title>
          </path>
        ))}
      {lanes.map(({ lane, top }) => (
        <g key={lane.name}>
          <text x={LEFT - 8} y={top + 13} textAnchor="end">
            {lane.name.length > 18 ? `${lane.name.slice(0, 17)}…` : lane.name}
          </text>
          {lane.slices
            .filter(one => one.start < end && one.start + one.length > window.start)
            .map((one, index) => {
              const from = Math.max(one.start, window.start);
              const to = Math.min(one.start + one.length, end);
              const isLit = line !== null && one.slice.spots.includes(line);
              const isCurrent = one.slice === props.slice;
              const x = LEFT + (from - window.start) * scale;
              const long = Math.max((to - from) * scale - 0.5, 1);
              const letters = Math.floor((long - 6) / 7);
              const rowY = top + one.row * ROW;
              return (
                <g key={index} onClick={() => props.onSlice(one.slice)}>
                  <title>{sliceTitle(one.slice)}</title>
                  <rect
                    className={`jp-jxk-slice jp-mod-hue${isLit ? ' jp-mod-lit' : ''}${isCurrent ? ' jp-mod-current' : ''}`}
                    style={{ fill: `hsl(${Number(one.slice.hue) || 0} 70% 50%)` }}
                    x={x}
                    y={rowY}
                    width={long}
                    height={ROW - 3}
                  />
                  {long > 40 && (
                    <text x={x + 4} y={rowY + 11} className="jp-jxk-sliceText">
                      {nameOf(one.slice).slice(0, letters)}
                    </text>
                  )}
                </g>
              );
            })}
        </g>
      ))}
    </svg>
  );
}

function SliceFacts(props: { readonly slice: SlicePayload }): React.JSX.Element {
  const { slice } = props;
  return (
    <div className="jp-jxk-facts" role="region" aria-label="the chosen stretch">
      <b>{slice.name}</b> {sliceFacts(slice).join(' · ')}
    </div>
  );
}

function sliceFacts(slice: SlicePayload): string[] {
  return [
    duration(slice.duration_ns),
    slice.program && `program ${slice.program}`,
    slice.origin && `operation ${slice.origin}`,
    ...slice.spots
  ].filter(Boolean);
}

function sliceTitle(slice: SlicePayload): string {
  return [slice.name, ...sliceFacts(slice)].join('\n');
}

/** Of an operation the name in the traced program, which its reader knows. */
function nameOf(slice: SlicePayload): string {
  return slice.origin.split('/').pop() || slice.name;
}
