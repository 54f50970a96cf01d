/**
 * What components use to follow models.
 */

import type { ISignal } from '@lumino/signaling';
import type { RefObject } from 'react';
import { useEffect, useLayoutEffect, useReducer, useState } from 'react';

/** Draws a component again whenever a signal is emitted. */
export function useSignal(signal: ISignal<unknown, unknown>): void {
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  useEffect(() => {
    signal.connect(redraw);
    return () => {
      signal.disconnect(redraw);
    };
  }, [signal]);
}

/** What a drawing is made for until its place on the page is known, and the least. */
const FIRST_WIDTH = 1000;
const LEAST_WIDTH = 320;

/** The width of an element in pixels: a drawing that is made for it has letters of one size. */
export function useWidth(element: RefObject<Element | null>): number {
  const [width, setWidth] = useState(FIRST_WIDTH);
  useLayoutEffect(() => {
    const node = element.current;
    if (!node) {
      return;
    }
    const measure = (): void => {
      // Zero while the output is out of sight.
      if (node.clientWidth) {
        setWidth(Math.max(node.clientWidth, LEAST_WIDTH));
      }
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(node);
    return () => observer.disconnect();
  }, []);
  return width;
}
