/**
 * A table of any length that is searched, sorted, and gone through by keyboard.
 */

import React, { useEffect, useMemo, useRef, useState } from 'react';

import { CopyButton, SearchBox } from './controls.tsx';
import { fitting } from './fitting.ts';
import { useWidth } from './hooks.ts';
import type { IColumn, IOrder } from './sorting.ts';
import { matching, searched, sorted, written } from './sorting.ts';
import { VirtualList } from './virtual.tsx';

const MOST = 14;
/** The width of a character of code, in pixels. */
const CHARACTER = 7.3;
/** The list's own borders, in rows. */
const BORDERS = 0.1;

/** What a table is drawn from. */
export interface ITableProps<T> {
  readonly label: string;
  readonly rows: readonly T[];
  readonly columns: readonly IColumn<T>[];
  /** What stands before the search box. */
  readonly heading?: React.ReactNode;
  /** What is copied; the rows that are shown where it is not given. */
  readonly text?: string;
  /** The row chosen elsewhere; -1 for none. */
  readonly chosen?: number;
  readonly onChosen?: (index: number) => void;
  /** The order at first. */
  readonly order?: IOrder;
  /** The greatest height in rows. */
  readonly most?: number;
  /** The kind of a row, for its looks. */
  readonly kind?: (row: T) => string;
}

/** Draws a table. */
export function Table<T>(props: ITableProps<T>): React.JSX.Element {
  const { rows, columns, chosen } = props;
  const [words, setWords] = useState('');
  const [order, setOrder] = useState<IOrder | null>(props.order ?? null);
  const [active, setActive] = useState(-1);
  const [request, setRequest] = useState(0);
  const isSearched = words.trim() !== '';
  const texts = useMemo(
    () => (isSearched ? searched(rows, columns) : null),
    [rows, columns, isSearched]
  );
  const shown = useMemo(() => {
    const found = texts ? matching(texts, words) : rows.map((_, index) => index);
    return sorted(rows, found, columns, order);
  }, [rows, columns, texts, words, order]);
  useEffect(() => {
    const position = chosen === undefined ? -1 : shown.indexOf(chosen);
    if (position !== active && chosen !== undefined) {
      setActive(position);
      setRequest(request + 1);
    }
  }, [chosen, shown]);

  const choose = (position: number): void => {
    setActive(position);
    props.onChosen?.(shown[position] ?? -1);
  };
  const frame = useRef<HTMLDivElement>(null);
  const room = Math.floor(useWidth(frame) / CHARACTER);
  const fit = useMemo(() => fitting(columns, room), [columns, room]);
  const grid = { gridTemplateColumns: fit.template };
  return (
    <div className="jp-jxk-Table">
      <div className="jp-jxk-bar" role="group" aria-label={`${props.label}: controls`}>
        {props.heading}
        <SearchBox
          label={`search in ${props.label}`}
          words={words}
          found={isSearched ? `${shown.length.toLocaleString('en')} found` : ''}
          onWords={setWords}
          onNext={step => shown.length && choose((active + step + shown.length) % shown.length)}
        />
        <CopyButton
          text={() => props.text ?? written(shown.map(index => rows[index] as T), columns)}
        />
      </div>
      <div className="jp-jxk-wide" ref={frame}>
        <div style={{ minWidth: `${fit.least}ch` }}>
          <div className="jp-jxk-head" style={grid} role="group" aria-label="sort by">
            {fit.shown.map(index => (
              <Head
                key={index}
                title={columns[index]?.title ?? ''}
                isNumeric={columns[index]?.isNumeric ?? false}
                order={order?.column === index ? order : null}
                onOrder={isDown => setOrder(isDown === null ? null : { column: index, isDown })}
              />
            ))}
          </div>
          <VirtualList
            count={shown.length}
            label={props.label}
            role="listbox"
            active={active}
            onActive={choose}
            width={0}
            rows={Math.min(props.most ?? MOST, Math.max(shown.length, 1)) + BORDERS}
            reveal={{ index: active, request }}
            row={(position, id, style) => {
              const row = rows[shown[position] ?? 0] as T;
              const isActive = position === active;
              return (
                <div
                  key={position}
                  id={id}
                  role="option"
                  aria-selected={isActive}
                  className={`jp-jxk-row jp-jxk-cells${isActive ? ' jp-mod-active jp-mod-lit' : ''}`}
                  data-kind={props.kind?.(row)}
                  style={{ ...style, ...grid }}
                  onClick={() => choose(position)}
                >
                  {fit.shown.map(at => (
                    <Cell key={at} column={columns[at] as IColumn<T>} row={row} />
                  ))}
                </div>
              );
            }}
          />
        </div>
      </div>
    </div>
  );
}

function Cell<T>(props: { readonly column: IColumn<T>; readonly row: T }): React.JSX.Element {
  const { column, row } = props;
  const text = column.text(row);
  return (
    <span className={column.isNumeric ? 'jp-mod-numeric' : undefined} title={text}>
      {column.bar && (
        <span
          className="jp-jxk-length"
          aria-hidden="true"
          style={{ width: `${(Math.max(column.bar(row), 0.01) * 5).toFixed(2)}em` }}
        />
      )}
      {text}
    </span>
  );
}

/** A column's title: it sorts up, then down, then not. */
function Head(props: {
  readonly title: string;
  readonly isNumeric: boolean;
  readonly order: IOrder | null;
  readonly onOrder: (isDown: boolean | null) => void;
}): React.JSX.Element {
  const { title, order, onOrder } = props;
  const next = order === null ? false : order.isDown ? null : true;
  const state = order === null ? '' : order.isDown ? ', greatest first' : ', least first';
  return (
    <button
      type="button"
      className={props.isNumeric ? 'jp-mod-numeric' : undefined}
      aria-label={`sort by ${title || 'this column'}${state}`}
      onClick={() => onOrder(next)}
    >
      {title}
      {order && <span aria-hidden="true">{order.isDown ? ' ↓' : ' ↑'}</span>}
    </button>
  );
}
