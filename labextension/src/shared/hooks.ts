/**
 * What components use to follow models.
 */

import type { ISignal } from '@lumino/signaling';
import { useEffect, useReducer } from 'react';

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
