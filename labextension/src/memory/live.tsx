/**
 * The section of live arrays.
 */

import React from 'react';

import type { LiveAnswer, LiveRow } from '../protocol';
import { Button } from '../shared/controls.tsx';
import { Bar } from '../shared/parts';
import { bytes, counted, fits, heldBy } from '../shared/texts.ts';
import { bySize } from './texts.ts';

/** How many holders are listed at once. */
const HOLDERS = 4;

const WEAK = '* is a weak type: made from Python numbers, it takes the dtype of what it meets';

/** Draws the arrays, largest first, with who holds them and a way to release them. */
export function LiveSection(props: {
  readonly answer: LiveAnswer;
  readonly filter: string;
  /** Arrays of fewer kilobytes are folded. */
  readonly smallArray: number;
  /** Whether holders besides variables and outputs are asked for. */
  readonly holders: boolean;
  readonly onHolders: (holders: boolean) => void;
  readonly release: (names: readonly string[]) => void;
}): React.JSX.Element {
  const { answer, filter, release } = props;
  const rows = answer.rows.filter(row => fits(filter, row.type, ...heldBy(row)));
  const { large, small } = bySize(rows, props.smallArray);
  const most = Math.max(...rows.map(row => row.bytes), 1);
  const list = (some: readonly LiveRow[]): React.JSX.Element => (
    <ul className="jp-jxk-panel-list">
      {some.map((row, index) => (
        <LiveItem key={`${heldBy(row)[0] ?? ''} ${row.type} ${index}`} {...{ row, most, release }} />
      ))}
    </ul>
  );
  return (
    <>
      <p className="jp-jxk-panel-summary">
        {counted(answer.count, 'live array')}, {bytes(answer.bytes)}
      </p>
      <label className="jp-jxk-panel-check">
        <input
          type="checkbox"
          checked={props.holders}
          onChange={event => props.onHolders(event.target.checked)}
        />
        find other holders (closures, attributes; slower)
      </label>
      {list(large)}
      {small.length > 0 && (
        <details open={!large.length || undefined}>
          <summary>
            {counted(small.length, 'small array')}{' '}
            <span className="jp-jxk-panel-dim">
              ({bytes(small.reduce((total, one) => total + one.bytes, 0))})
            </span>
          </summary>
          {list(small)}
        </details>
      )}
      {!rows.length && (
        <p className="jp-jxk-panel-empty">
          {answer.count ? `None fits “${filter}”.` : 'No array is alive.'}
        </p>
      )}
      {answer.left_out > 0 && (
        <p className="jp-jxk-panel-dim">
          {counted(answer.left_out, 'smaller array')} not listed ({bytes(answer.left_out_bytes)}).
        </p>
      )}
    </>
  );
}

function LiveItem(props: {
  readonly row: LiveRow;
  readonly most: number;
  readonly release: (names: readonly string[]) => void;
}): React.JSX.Element {
  const { row, release } = props;
  const held = heldBy(row);
  const more = held.length - HOLDERS;
  return (
    <li>
      <div className="jp-jxk-panel-row">
        <code className="jp-jxk-panel-name">{held[0] ?? 'held by no variable'}</code>
        <span className="jp-jxk-panel-cost">
          {row.deleted ? 'deleted' : <Bar part={row.bytes / props.most} text={bytes(row.bytes)} />}
        </span>
      </div>
      <div className="jp-jxk-panel-row jp-jxk-panel-dim">
        <span className="jp-jxk-panel-held">
          <span className="jp-jxk-panel-type" title={row.type.includes('*') ? WEAK : undefined}>
            {row.type}
          </span>{' '}
          · {row.devices.join(' ')}
          {held.length > 1 && ` · also ${held.slice(1, HOLDERS).join(', ')}`}
          {more > 0 && ` and ${more} more`}
        </span>
        {row.roots.length > 0 && !row.deleted && (
          <Button
            text="Release…"
            title={`Release ${row.roots.join(', ')}…`}
            onClick={() => release(row.roots)}
          />
        )}
      </div>
    </li>
  );
}
