/**
 * The timeline of builds as a plotly figure, for the renderer that plotly brings to JupyterLab.
 */

import type { BuildTimeline } from '../protocol.ts';

/** The MIME type of plotly's renderer. */
export const PLOTLY = 'application/vnd.plotly.v1+json';

/** The colours of the theme, and of the stages. */
export interface IColours {
  readonly text: string;
  readonly line: string;
  readonly stages: Readonly<Record<string, string>>;
}

const PATTERNS: Record<string, string> = { trace: '', lower: '/', compile: 'x' };

/** The figure: a bar for each stage of each build, a lane for each function. */
export function figure(found: BuildTimeline, colours: IColours): Record<string, unknown> {
  const traces = Object.entries(PATTERNS).map(([stage, shape]) => {
    const bars = found.bars.filter(bar => bar.stage === stage);
    return {
      type: 'bar',
      orientation: 'h',
      name: stage,
      y: bars.map(bar => bar.lane),
      base: bars.map(bar => bar.start),
      x: bars.map(bar => bar.seconds),
      customdata: bars.map(bar => [bar.row, bar.cell, bar.fun]),
      hovertemplate: '%{customdata[0]}. %{customdata[1]} %{customdata[2]}: %{x:.4s} s<extra></extra>',
      marker: { color: colours.stages[stage], pattern: { shape } }
    };
  });
  const axis = { color: colours.text, gridcolor: colours.line, zeroline: false };
  return {
    data: traces,
    layout: {
      barmode: 'overlay',
      height: 90 + 28 * Math.max(found.lanes.length, 2),
      margin: { l: 120, r: 20, t: 10, b: 40 },
      paper_bgcolor: 'rgba(0,0,0,0)',
      plot_bgcolor: 'rgba(0,0,0,0)',
      font: { color: colours.text, size: 11 },
      xaxis: { ...axis, title: { text: 'seconds of work; idle time is left out' } },
      yaxis: { ...axis, categoryorder: 'array', categoryarray: [...found.lanes].reverse() },
      legend: { orientation: 'h' }
    },
    config: { displaylogo: false, responsive: true }
  };
}
