/**
 * The section of the functions that jit has traced.
 */

import React from 'react';

import type { FunctionRow, FunctionsAnswer } from '../protocol';
import { shortPlace } from '../shared/cellplace.ts';
import { Place } from '../shared/parts';
import { counted, fits } from '../shared/texts.ts';
import type { IWays } from '../tokens';
import { functionLine } from './texts.ts';

/** Draws a list of functions, each with the way to its source. */
export function FunctionsSection(props: {
  readonly answer: FunctionsAnswer;
  readonly filter: string;
  readonly ways: IWays;
}): React.JSX.Element {
  const { answer, filter, ways } = props;
  const rows = answer.rows.filter(row => fits(filter, row.name, row.place));
  if (!answer.rows.length) {
    return <p className="jp-jxk-panel-empty">No live function has been traced.</p>;
  }
  return (
    <>
      <p className="jp-jxk-panel-summary">{counted(answer.rows.length + answer.left_out, 'function')}</p>
      <ul className="jp-jxk-panel-list">
        {rows.map(row => (
          <li key={row.function_id}>
            <div className="jp-jxk-panel-row">
              <code className="jp-jxk-panel-name">{row.name}</code>
              <Source row={row} cells={answer.cells} ways={ways} />
            </div>
            <div>{functionLine(row)}</div>
            {row.latest && <div className="jp-jxk-panel-dim">built last for: {row.latest}</div>}
          </li>
        ))}
      </ul>
      {!rows.length && <p className="jp-jxk-panel-empty">None fits “{filter}”.</p>}
      {answer.left_out > 0 && (
        <p className="jp-jxk-panel-dim">{counted(answer.left_out, 'function')} more not listed.</p>
      )}
    </>
  );
}

/** Where a function is defined: a link to the cell, or to the file where there is one. */
function Source(props: {
  readonly row: FunctionRow;
  readonly cells: Record<string, string>;
  readonly ways: IWays;
}): React.JSX.Element | null {
  const { row, cells, ways } = props;
  if (!row.path) {
    return row.place ? <Place text={row.place} cells={cells} ways={ways} /> : null;
  }
  return (
    <button
      type="button"
      className="jp-jxk-panel-link"
      title={`Open ${row.path} at line ${row.line}`}
      onClick={() => ways.open(row.path, row.line)}
    >
      {shortPlace(row.place)}
    </button>
  );
}
