/**
 * What lines cost, as a kernel tells while one wants to see it.
 */

import type { ISignal } from '@lumino/signaling';
import { Signal } from '@lumino/signaling';

import type { LineCostsAnswer } from '../protocol.ts';
import type { ISession, SessionChange } from '../tokens';
import type { LineCosts } from './heat';
import { lineCosts } from './heat';

/** Events come in bursts: costs are asked for once after each. */
const PAUSE_MS = 300;

/** The costs of one session's lines, while they are wanted. */
export class Costs {
  constructor(private readonly _session: ISession) {
    _session.changed.connect(this._onChanged, this);
    void this._ask();
  }

  get lines(): LineCosts {
    return this._lines;
  }

  get changed(): ISignal<this, void> {
    return this._changed;
  }

  dispose(): void {
    window.clearTimeout(this._timer);
    this._session.changed.disconnect(this._onChanged, this);
    Signal.clearData(this);
  }

  private _onChanged(_: ISession, change: SessionChange): void {
    if (change !== 'work') {
      window.clearTimeout(this._timer);
      this._timer = window.setTimeout(() => void this._ask(), PAUSE_MS);
    }
  }

  private async _ask(): Promise<void> {
    if (!this._session.status) {
      return;
    }
    try {
      const { lines } = await this._session.request<LineCostsAnswer>('line_costs');
      this._lines = lineCosts(lines);
      this._changed.emit();
    } catch {
      return; // the kernel went away; the next one is asked anew
    }
  }

  private readonly _changed = new Signal<this, void>(this);
  private _lines: LineCosts = new Map();
  private _timer = 0;
}
