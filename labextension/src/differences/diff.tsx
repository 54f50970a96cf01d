/**
 * Two traces side by side.
 */

import React, { useMemo, useState } from 'react';

import type { DiffPayload } from '../protocol';
import { Button, CopyButton } from '../shared/controls.tsx';
import { VirtualList } from '../shared/virtual.tsx';
import { counted } from '../shared/texts.ts';
import type { DiffLine, IChanged } from './rows.ts';
import { changedParts, changesIn, isSame, shownRows, sidesOf } from './rows.ts';

const ROWS = 26;
const SIGNS: Record<string, { mark: string; word: string }> = {
  '=': { mark: ' ', word: 'the same' },
  '~': { mark: '~', word: 'changed' },
  '-': { mark: '−', word: 'only before' },
  '+': { mark: '+', word: 'only after' }
};

/** Draws the comparison. */
export function Diff(props: {
  readonly data: DiffPayload;
  readonly text: string;
}): React.JSX.Element {
  const { data } = props;
  const [onlyChanges, setOnly] = useState(false);
  const [active, setActive] = useState(-1);
  const [request, setRequest] = useState(0);
  const rows = useMemo(() => shownRows(data, onlyChanges), [data, onlyChanges]);
  const changes = useMemo(() => changesIn(rows), [rows]);
  const go = (step: 1 | -1): void => {
    const later = changes.filter(one => (step > 0 ? one > active : one < active));
    const next = step > 0 ? (later[0] ?? changes[0]) : (later.at(-1) ?? changes.at(-1));
    if (next !== undefined) {
      setActive(next);
      setRequest(request + 1);
    }
  };
  return (
    <div className="jp-jxk-Program">
      <div className="jp-jxk-bar" role="group" aria-label="controls">
        <b>{data.summary}</b>
        <Button text="◂ Change" title="The change before" onClick={() => go(-1)} />
        <Button text="Change ▸" title="The next change" onClick={() => go(1)} />
        <Button
          text="Changes only"
          isOn={onlyChanges}
          onClick={() => {
            setOnly(!onlyChanges);
            setActive(-1);
          }}
        />
        <CopyButton text={() => props.text} />
      </div>
      <div className="jp-jxk-diff jp-mod-head">
        <span />
        <b>{data.before}</b>
        <b>{data.after}</b>
      </div>
      <VirtualList
        count={rows.length}
        label={`${data.before} compared with ${data.after}`}
        role="listbox"
        active={active}
        onActive={setActive}
        reveal={{ index: active, request }}
        rows={ROWS}
        width={0}
        row={(index, id, style) => (
          <Row
            key={index}
            row={rows[index] as DiffLine}
            id={id}
            style={style}
            isActive={index === active}
            onClick={() => setActive(index)}
          />
        )}
      />
      {data.left_out > 0 && (
        <div className="jp-jxk-dim">{`… ${counted(data.left_out, 'more row')}`}</div>
      )}
    </div>
  );
}

function Row(props: {
  readonly row: DiffLine;
  readonly id: string;
  readonly style: React.CSSProperties;
  readonly isActive: boolean;
  readonly onClick: () => void;
}): React.JSX.Element {
  const { row } = props;
  const sign = isSame(row) ? '=' : row.sign;
  const sides = isSame(row)
    ? { before: `… ${row.same} the same`, after: '' }
    : sidesOf(row);
  const [before, after] = sign === '~' ? changedParts(sides.before, sides.after) : [];
  return (
    <div
      id={props.id}
      style={props.style}
      role="option"
      aria-selected={props.isActive}
      aria-label={`${SIGNS[sign]?.word}: ${sides.before} ${sides.after}`}
      className={`jp-jxk-row jp-jxk-diff${props.isActive ? ' jp-mod-active' : ''}`}
      data-sign={isSame(row) ? 'fold' : sign}
      onClick={props.onClick}
    >
      <b aria-hidden="true">{SIGNS[sign]?.mark}</b>
      <span className="jp-jxk-before" title={sides.before}>
        {before ? <Changed part={before} /> : sides.before}
      </span>
      <span className="jp-jxk-after" title={sides.after}>
        {after ? <Changed part={after} /> : sides.after}
      </span>
    </div>
  );
}

function Changed(props: { readonly part: IChanged }): React.JSX.Element {
  const { start, changed, end } = props.part;
  return (
    <>
      {start}
      <b>{changed}</b>
      {end}
    </>
  );
}
