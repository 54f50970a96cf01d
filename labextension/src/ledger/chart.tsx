/**
 * The timeline of builds: a lane for each function, and a bar for each stage.
 */

import React, { useRef } from 'react';

import type { BuildTimeline } from '../protocol';
import { useWidth } from '../shared/hooks.ts';
import { clock, duration } from '../shared/texts.ts';

const LEFT = 130;
const TOP = 18;
const LANE = 22;
const SHAPES: Record<string, { top: number; height: number; letter: string }> = {
  trace: { top: 4, height: 14, letter: 'T' },
  lower: { top: 12, height: 6, letter: '' },
  compile: { top: 4, height: 14, letter: 'C' }
};

/** Draws the timeline. */
export function Chart(props: {
  readonly found: BuildTimeline;
  readonly chosen: number;
  readonly onChosen: (row: number) => void;
}): React.JSX.Element {
  const { found, chosen, onChosen } = props;
  const svg = useRef<SVGSVGElement>(null);
  const width = useWidth(svg);
  const scale = (width - LEFT - 10) / (found.seconds || 1);
  const lanes = new Map(found.lanes.map((name, index) => [name, index]));
  const height = TOP + LANE * found.lanes.length + 6;
  return (
    <>
      <div className="jp-jxk-dim">
        T trace (outlined) · lower (low) · C compile (filled) · a cut is where idle time is left out
      </div>
      <svg
        ref={svg}
        className="jp-jxk-chart"
        viewBox={`0 0 ${width} ${height}`}
        role="img"
        aria-label={`timeline of ${found.bars.length} stages of builds, ${duration(found.seconds * 1e9)} of work; the table below says the same`}
      >
        <text x={LEFT} y={10} className="jp-jxk-small">
          {clock(found.start)}
        </text>
        <text x={width - 10} y={10} textAnchor="end" className="jp-jxk-small">
          {`${duration(found.seconds * 1e9)} of work`}
        </text>
        <path className="jp-jxk-axis" d={`M${LEFT} ${TOP - 4}H${width - 10}`} />
        {found.breaks.map((one, index) => (
          <path
            key={index}
            className="jp-jxk-axis"
            d={cut(LEFT + one.at * scale, height)}
          >
            <title>{`${duration(one.seconds * 1e9)} idle, until ${clock(one.when)}`}</title>
          </path>
        ))}
        {found.lanes.map((name, index) => (
          <text key={name} x={LEFT - 8} y={TOP + LANE * index + 15} textAnchor="end">
            {name.length > 18 ? `${name.slice(0, 17)}…` : name}
          </text>
        ))}
        {found.bars.map((bar, index) => {
          const shape = SHAPES[bar.stage];
          const y = TOP + LANE * (lanes.get(bar.lane) ?? 0);
          const x = LEFT + bar.start * scale;
          const long = Math.max(bar.seconds * scale - 0.7, 1);
          const isChosen = bar.row === chosen;
          return shape ? (
            <g key={index} onClick={() => onChosen(bar.row)}>
              <title>{`${bar.row}. ${bar.cell} ${bar.stage} ${bar.fun}, ${duration(bar.seconds * 1e9)}`}</title>
              <rect
                className={`jp-jxk-slice${isChosen ? ' jp-mod-current' : ''}`}
                data-kind={bar.stage}
                data-row={bar.row}
                x={x}
                y={y + shape.top}
                width={long}
                height={shape.height}
              />
              {shape.letter && long > 12 && (
                <text
                  className={`jp-jxk-letter jp-mod-${bar.stage}`}
                  x={x + long / 2}
                  y={y + 15}
                  textAnchor="middle"
                >
                  {shape.letter}
                </text>
              )}
            </g>
          ) : null;
        })}
      </svg>
    </>
  );
}

function cut(x: number, height: number): string {
  return `M${x - 3} ${TOP}l2-8m2 8l2-8M${x} ${TOP}V${height - 2}`;
}
