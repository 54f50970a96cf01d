/**
 * A long list of which only the rows in sight are drawn.
 */

import React, { useEffect, useLayoutEffect, useRef, useState } from 'react';

/** The height of a row in pixels, as `--jp-jxk-row` has it. */
export const ROW_HEIGHT = 20;

const MARGIN = 10;

/** What a list is made of. */
export interface IVirtualListProps {
  /** How many rows there are. */
  readonly count: number;
  /** What a screen reader calls it. */
  readonly label: string;
  /** `tree` for rows that fold, `listbox` for others. */
  readonly role: 'tree' | 'listbox';
  /** The row that the keyboard is at; -1 for none. */
  readonly active: number;
  /** Called when the keyboard moves to another row. */
  readonly onActive: (index: number) => void;
  /** Called for other keys; true where the key was taken. */
  readonly onKey?: (event: React.KeyboardEvent, index: number) => boolean;
  /** Draws a row; `id` and `style` are to be put on its element. */
  readonly row: (index: number, id: string, style: React.CSSProperties) => React.ReactElement;
  /** The row to bring into sight; again when `request` is another number. */
  readonly reveal?: { readonly index: number; readonly request: number };
  /** The longest row in characters. */
  readonly width: number;
  /** The greatest height in rows. */
  readonly rows: number;
}

let lists = 0;

/** Draws the rows in sight. */
export function VirtualList(props: IVirtualListProps): React.JSX.Element {
  const { count, active, reveal } = props;
  const box = useRef<HTMLDivElement>(null);
  const [id] = useState(() => `jp-jxk-list-${++lists}`);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(props.rows * ROW_HEIGHT);

  useEffect(() => {
    const node = box.current;
    if (!node) {
      return;
    }
    const observer = new ResizeObserver(() => setHeight(node.clientHeight || height));
    observer.observe(node);
    return () => observer.disconnect();
  }, []);

  useLayoutEffect(() => {
    const node = box.current;
    if (node && reveal && reveal.index >= 0) {
      bring(node, reveal.index);
      setTop(node.scrollTop);
    }
  }, [reveal?.request]);

  const onKeyDown = (event: React.KeyboardEvent): void => {
    if (props.onKey?.(event, active)) {
      event.preventDefault();
      return;
    }
    const page = Math.max(1, Math.floor(height / ROW_HEIGHT) - 1);
    const moves: Record<string, number> = {
      ArrowDown: active + 1,
      ArrowUp: active - 1,
      PageDown: active + page,
      PageUp: active - page,
      Home: 0,
      End: count - 1
    };
    const wanted = moves[event.key];
    if (wanted !== undefined && count && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      const next = Math.max(0, Math.min(wanted, count - 1));
      if (box.current) {
        bring(box.current, next);
      }
      props.onActive(next);
    }
  };

  const first = Math.max(0, Math.floor(top / ROW_HEIGHT) - MARGIN);
  const last = Math.min(count, Math.ceil((top + height) / ROW_HEIGHT) + MARGIN);
  const drawn: React.ReactElement[] = [];
  for (let index = first; index < last; index++) {
    drawn.push(
      props.row(index, `${id}-${index}`, { top: index * ROW_HEIGHT, height: ROW_HEIGHT })
    );
  }
  const isActiveDrawn = active >= first && active < last;
  return (
    <div
      ref={box}
      className="jp-jxk-list"
      role={props.role}
      aria-label={props.label}
      aria-activedescendant={isActiveDrawn ? `${id}-${active}` : undefined}
      tabIndex={0}
      data-lm-suppress-shortcuts="true"
      style={{ maxHeight: props.rows * ROW_HEIGHT, height: count * ROW_HEIGHT + 16 }}
      onScroll={event => setTop(event.currentTarget.scrollTop)}
      onKeyDown={onKeyDown}
    >
      <div
        role="presentation"
        className="jp-jxk-rows"
        style={{ height: count * ROW_HEIGHT, minWidth: `${props.width + 4}ch` }}
      >
        {drawn}
      </div>
    </div>
  );
}

/** Scrolls a row into sight, if it is not. */
function bring(node: HTMLElement, index: number): void {
  const at = index * ROW_HEIGHT;
  if (at < node.scrollTop) {
    node.scrollTop = Math.max(0, at - 2 * ROW_HEIGHT);
  } else if (at + 2 * ROW_HEIGHT > node.scrollTop + node.clientHeight) {
    node.scrollTop = at + 3 * ROW_HEIGHT - node.clientHeight;
  }
}
