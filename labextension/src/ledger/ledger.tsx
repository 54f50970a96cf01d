/**
 * The recompilation ledger: its timeline, its builds, and the chosen one's reasons.
 */

import React, { useMemo, useState } from 'react';

import type { LedgerPayload, LedgerRowPayload } from '../protocol';
import { Button } from '../shared/controls.tsx';
import { Table } from '../shared/table.tsx';
import { duration } from '../shared/texts.ts';
import type { Filter, Group } from './builds.ts';
import {
  columns,
  FILTERS,
  filtered,
  GROUPS,
  heading,
  kindOf,
  leftOut,
  timelineTitle,
  totalColumns,
  totals
} from './builds.ts';
import { Chart } from './chart.tsx';

/** Draws the ledger; `plotly` is there where plotly's renderer is, `all` where a kernel can be asked. */
export function Ledger(props: {
  readonly data: LedgerPayload;
  readonly text: string;
  readonly plotly: React.ComponentType | null;
  readonly all: (() => Promise<LedgerPayload>) | null;
}): React.JSX.Element {
  const { plotly: Plotly, all } = props;
  const [data, setData] = useState(props.data);
  const [notice, setNotice] = useState('');
  const [group, setGroup] = useState<Group>('build');
  const [filter, setFilter] = useState<Filter>('all');
  const [chosen, setChosen] = useState<LedgerRowPayload | null>(null);
  const [isPlotly, setPlotly] = useState(false);
  const rows = useMemo(() => filtered(data.rows, filter), [data, filter]);
  const ofRows = useMemo(() => columns(data.rows), [data]);
  if (!data.rows.length) {
    return <pre className="jp-jxk-dim">{props.text}</pre>;
  }
  const choose = (number: number): void =>
    setChosen(data.rows.find(row => row.number === number) ?? null);
  const showAll = async (): Promise<void> => {
    try {
      setData(all ? await all() : data);
      setChosen(null);
      setNotice('');
    } catch (error) {
      setNotice(error instanceof Error ? error.message : String(error));
    }
  };
  const controls = (
    <>
      <b>{heading(data)}</b>
      <Choice label="by" options={GROUPS} value={group} onValue={setGroup} />
      <Choice label="show" options={FILTERS} value={filter} onValue={setFilter} />
    </>
  );
  return (
    <div className="jp-jxk-Ledger">
      {data.timeline.bars.length > 0 && (
        <details open>
          <summary>{timelineTitle(data)}</summary>
          {Plotly && (
            <Button
              text="Plotly"
              title="Draw it with Plotly, which zooms"
              isOn={isPlotly}
              onClick={() => setPlotly(!isPlotly)}
            />
          )}
          {isPlotly && Plotly ? (
            <Plotly />
          ) : (
            <Chart found={data.timeline} chosen={chosen?.number ?? -1} onChosen={choose} />
          )}
        </details>
      )}
      {group === 'build' ? (
        <Table
          label="builds"
          rows={rows}
          columns={ofRows}
          heading={controls}
          kind={kindOf}
          chosen={chosen ? rows.indexOf(chosen) : -1}
          onChosen={index => setChosen(rows[index] ?? null)}
        />
      ) : (
        <Totals key={group} rows={rows} group={group} heading={controls} />
      )}
      <div aria-live="polite">{chosen && <Facts row={chosen} />}</div>
      <div className="jp-jxk-bar jp-jxk-dim" role="status">
        {[...leftOut(data), notice].filter(Boolean).join(' · ')}
        {all && data.left_out > 0 && <Button text="Show all" onClick={() => void showAll()} />}
      </div>
    </div>
  );
}

function Totals(props: {
  readonly rows: readonly LedgerRowPayload[];
  readonly group: Group;
  readonly heading: React.ReactNode;
}): React.JSX.Element {
  const sums = useMemo(() => totals(props.rows, props.group), [props.rows, props.group]);
  const ofSums = useMemo(() => totalColumns(props.group, sums), [sums]);
  return (
    <Table
      label={`builds by ${props.group}`}
      rows={sums}
      columns={ofSums}
      heading={props.heading}
    />
  );
}

/** Why a build was made: each part of the key that changed, and what to do. */
function Facts(props: { readonly row: LedgerRowPayload }): React.JSX.Element {
  const { row } = props;
  const times = [
    ['trace', row.trace_ns],
    ['lower', row.lower_ns],
    ['compile', row.compile_ns]
  ] as const;
  const spent = times.filter(([, time]) => time).map(([name, time]) => `${name} ${duration(time)}`);
  const more = [
    row.site && `called at ${row.site}`,
    row.eqns !== null && !row.error && `${row.eqns.toLocaleString('en')} equations`,
    row.from_disk && `loaded from disk, saved ${duration(row.saved_ns)}`
  ].filter(Boolean);
  return (
    <div className="jp-jxk-facts" role="region" aria-label={`build ${row.number}`}>
      <div>
        <b>{`${row.number}. ${row.fun}`}</b> {[...spent, ...more].join(' · ')}
      </div>
      <table>
        <thead>
          <tr>
            {['Part of the key', 'Before', 'Now', 'Fix'].map(title => (
              <th key={title}>{title}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {row.reasons.map((reason, index) => (
            <tr key={index}>
              <td>{`${reason.kind.replaceAll('_', ' ')}: ${reason.what}`}</td>
              <td>
                <code>{reason.before}</code>
              </td>
              <td>
                <code>{reason.after}</code>
              </td>
              <td>{reason.fix}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {row.error && <pre className="jp-jxk-note">{row.error}</pre>}
      {[row.storm, row.slow].map(
        (warning, index) =>
          warning && (
            <div key={index} className="jp-jxk-note">
              {warning}
            </div>
          )
      )}
    </div>
  );
}

function Choice<T extends string>(props: {
  readonly label: string;
  readonly options: readonly T[];
  readonly value: T;
  readonly onValue: (value: T) => void;
}): React.JSX.Element {
  return (
    <label data-lm-suppress-shortcuts="true">
      {`${props.label} `}
      <select
        aria-label={`builds: ${props.label}`}
        value={props.value}
        onChange={event => props.onValue(event.target.value as T)}
      >
        {props.options.map(one => (
          <option key={one}>{one}</option>
        ))}
      </select>
    </label>
  );
}
