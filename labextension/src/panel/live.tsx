/**
 * The section of live arrays.
 */

import React from 'react';

import type { LiveAnswer, LiveRow } from '../protocol';
import { Button } from '../shared/controls.tsx';
import { bytes, counted } from '../shared/texts.ts';
import type { PanelModel } from './model';
import type { IActs } from './parts';
import { Bar } from './parts';
import { bySize, fits, heldBy } from './texts.ts';

/** How many holders are listed at once. */
const HOLDERS = 4;

const WEAK = '* is a weak type: made from Python numbers, it takes the dtype of what it meets';

/** Draws the arrays, largest first, with who holds them and a way to release them. */
export function LiveSection(props: {
  readonly answer: LiveAnswer;
  readonly model: PanelModel;
  readonly acts: IActs;
}): React.JSX.Element {
  const { answer, model, acts } = props;
  const rows = answer.rows.filter(row => fits(model.filter, row.type, ...heldBy(row)));
  const { large, small } = bySize(rows, model.preferences.values.smallArray);
  const most = Math.max(...rows.map(row => row.bytes), 1);
  const list = (some: readonly LiveRow[]): React.JSX.Element => (
    <ul className="jp-jxk-panel-list">
      {some.map((row, index) => (
        <LiveItem key={`${heldBy(row)[0] ?? ''} ${row.type} ${index}`} {...{ row, most, acts }} />
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
          checked={model.holders}
          onChange={event => {
            model.holders = event.target.checked;
          }}
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
          {answer.count ? `None fits “${model.filter}”.` : 'No array is alive.'}
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
  readonly acts: IActs;
}): React.JSX.Element {
  const { row, acts } = props;
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
            onClick={() => acts.release(row.roots)}
          />
        )}
      </div>
    </li>
  );
}
