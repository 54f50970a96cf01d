/**
 * The section of the recompilation ledger.
 */

import React from 'react';

import type { LedgerAnswer, LedgerRowPayload, LedgerTotal } from '../protocol';
import { Button } from '../shared/controls.tsx';
import { Bar, Place, Warning } from '../shared/parts';
import { clock, counted, duration, fits } from '../shared/texts.ts';
import type { IPreferences, IWays } from '../tokens';
import { ledgerSummary, stagesOf, storms } from './texts.ts';

/** What the section is drawn from. */
export interface ILedgerProps {
  readonly answer: LedgerAnswer;
  readonly filter: string;
  readonly values: IPreferences['values'];
  readonly ways: IWays;
  /** Opens the whole ledger in a tab of its own. */
  readonly openAll: () => void;
}

/** Draws warnings, totals, and the newest builds with their reasons. */
export function LedgerSection(props: ILedgerProps): React.JSX.Element {
  const { answer, filter, values, ways } = props;
  const rows = answer.rows.filter(row => fits(filter, row.fun, row.cell, row.why));
  const { outside } = answer;
  if (!answer.rows.length && !outside.builds) {
    return <p className="jp-jxk-panel-empty">Nothing has been traced or compiled yet.</p>;
  }
  return (
    <>
      <p className="jp-jxk-panel-summary">{ledgerSummary(answer)}</p>
      {storms(answer, values.stormBuilds).map(one => (
        <Warning key={one.fun}>
          <strong>
            Storm: <code>{one.fun}</code>
          </strong>{' '}
          {one.text}.{one.fix && <div className="jp-jxk-panel-fix">Fix: {one.fix}</div>}
        </Warning>
      ))}
      <Totals title="By cell" totals={answer.by_cell} answer={answer} ways={ways} isOpen />
      <Totals title="By call site" totals={answer.by_site} answer={answer} ways={ways} />
      <h3>Newest builds</h3>
      <ul className="jp-jxk-panel-list">
        {rows.map(row => (
          <Build key={row.number} row={row} {...props} />
        ))}
      </ul>
      {!rows.length && <p className="jp-jxk-panel-empty">None fits “{filter}”.</p>}
      {answer.left_out > 0 && (
        <p className="jp-jxk-panel-dim">
          {counted(answer.left_out, 'earlier build')} not listed.{' '}
          <Button text="Show all" onClick={props.openAll} />
        </p>
      )}
      {answer.dropped > 0 && (
        <p className="jp-jxk-panel-dim">
          {counted(answer.dropped, 'earlier event')} no longer kept by the kernel.
        </p>
      )}
      {outside.builds > 0 && (
        <p className="jp-jxk-panel-dim">
          {counted(outside.builds, 'operation')} outside jit, compiled in{' '}
          {duration(outside.cost_ns)}.
        </p>
      )}
    </>
  );
}

function Totals(props: {
  readonly title: string;
  readonly totals: readonly LedgerTotal[];
  readonly answer: LedgerAnswer;
  readonly ways: IWays;
  readonly isOpen?: boolean;
}): React.JSX.Element | null {
  const { answer, ways } = props;
  const most = Math.max(...props.totals.map(one => one.cost_ns), 1);
  if (!props.totals.length) {
    return null;
  }
  return (
    <details open={props.isOpen}>
      <summary>
        {props.title} <span className="jp-jxk-panel-dim">({props.totals.length})</span>
      </summary>
      <ul className="jp-jxk-panel-list">
        {props.totals.map(one => (
          <li key={one.label} className="jp-jxk-panel-row">
            <Place text={one.label} cells={answer.cells} ways={ways} />
            <span className="jp-jxk-panel-dim">{buildsOf(one)}</span>
            <span className="jp-jxk-panel-cost">
              <Bar part={one.cost_ns / most} text={duration(one.cost_ns)} />
            </span>
          </li>
        ))}
      </ul>
    </details>
  );
}

/** How many builds there were, and how many for another reason than being the first call. */
function buildsOf(one: LedgerTotal): string {
  const again = one.avoidable ? `, ${one.avoidable.toLocaleString('en')} again` : '';
  return counted(one.builds, 'build') + again;
}

function Build(props: ILedgerProps & { readonly row: LedgerRowPayload }): React.JSX.Element {
  const { row, answer, ways, values } = props;
  const isSlow = row.cost_ns >= values.slowBuild * 1e9;
  const where = row.site || row.cell;
  const isAgain = row.reasons.some(one => one.kind !== 'first_call');
  return (
    <li className={isAgain ? 'jp-jxk-panel-build jp-mod-again' : 'jp-jxk-panel-build'}>
      <div className="jp-jxk-panel-row">
        <code className="jp-jxk-panel-name">{row.fun}</code>
        {where && <Place text={where} cells={answer.cells} ways={ways} />}
        <span className="jp-jxk-panel-badge">
          {row.error !== null ? 'failed' : isAgain ? 'again' : 'first'}
        </span>
        {isSlow && <span className="jp-jxk-panel-badge jp-mod-slow">slow</span>}
        <span className="jp-jxk-panel-cost">{duration(row.cost_ns)}</span>
      </div>
      {row.error !== null ? (
        <details className="jp-jxk-panel-failed">
          <summary title={row.why}>{row.why}</summary>
          <pre>{row.error}</pre>
        </details>
      ) : (
        <div>{row.why}</div>
      )}
      {row.fix && <div className="jp-jxk-panel-fix">Fix: {row.fix}</div>}
      <div className="jp-jxk-panel-dim">
        {clock(row.when)} · {stagesOf(row) || 'no work done'}
      </div>
    </li>
  );
}
