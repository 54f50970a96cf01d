/**
 * What lines cost, as kernels tell while one wants to see it.
 */

import type { ISignal } from '@lumino/signaling';
import { Signal } from '@lumino/signaling';

import { ask } from '../shared/asking';
import type { ILineCosts, ISession, LineCosts, SessionChange } from '../tokens';
import { lineCosts } from './heat';

/** Events come in bursts: costs are asked for once after each. */
const PAUSE_MS = 300;

/** The costs of one session's lines, while they are wanted. */
class Costs {
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
      const { lines } = await ask(this._session, 'line_costs');
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

/** The costs of all sessions' lines, while they are shown. */
export class LineCostsModel implements ILineCosts {
  /** Whether they are shown. */
  get isOn(): boolean {
    return this._lines !== null;
  }

  set isOn(isOn: boolean) {
    if (isOn !== this.isOn) {
      this._costs.forEach(one => one.dispose());
      this._costs.clear();
      this._lines = isOn ? new Map() : null;
      this._followed.forEach(session => this._cost(session));
      this._changed.emit();
    }
  }

  get lines(): LineCosts | null {
    return this._lines;
  }

  get changed(): ISignal<this, void> {
    return this._changed;
  }

  follow(session: ISession): void {
    this._followed.add(session);
    session.disposed.connect(() => {
      this._followed.delete(session);
      this._costs.get(session)?.dispose();
      this._costs.delete(session);
    });
    this._cost(session);
  }

  private _cost(session: ISession): void {
    if (this.isOn) {
      const costs = new Costs(session);
      this._costs.set(session, costs);
      costs.changed.connect(() => {
        this._lines = new Map([...this._costs.values()].flatMap(one => [...one.lines]));
        this._changed.emit();
      });
    }
  }

  private readonly _changed = new Signal<this, void>(this);
  private readonly _followed = new Set<ISession>();
  private readonly _costs = new Map<ISession, Costs>();
  private _lines: LineCosts | null = null;
}
