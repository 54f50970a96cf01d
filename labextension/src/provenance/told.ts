/**
 * What kernels tell of functions that were traced and whose cells do not show it.
 */

import type { ISignal } from '@lumino/signaling';
import { Signal } from '@lumino/signaling';

import type { MarkedPayload } from '../protocol.ts';
import { ask } from '../shared/asking';
import type { ISession, SessionChange } from '../tokens';

/** The functions of one session: the latest map of each. */
export class Told {
  constructor(private readonly _session: ISession) {
    _session.changed.connect(this._onChanged, this);
    _session.disposed.connect(() => {
      this._session.changed.disconnect(this._onChanged, this);
      Signal.clearData(this);
    });
    void this._ask();
  }

  get functions(): readonly MarkedPayload[] {
    return [...this._functions.values()];
  }

  get changed(): ISignal<this, void> {
    return this._changed;
  }

  private _onChanged(_: ISession, change: SessionChange): void {
    if (change === 'status') {
      void this._ask();
    }
  }

  private async _ask(): Promise<void> {
    const { status } = this._session;
    if (status === null && this._latest > 0) {
      // The kernel is gone. What it told stays, as outputs do, and is older than all that comes.
      this._latest = 0;
      this._functions.forEach((one, key) => this._functions.set(key, { ...one, count: 0 }));
    }
    if (this._isAsking || !status || status.marked <= this._latest) {
      return;
    }
    this._isAsking = true;
    try {
      const since = this._latest;
      const { maps } = await ask(this._session, 'marks', { since });
      this._latest = Math.max(status.marked, ...maps.map(one => one.number));
      for (const one of maps) {
        const { file, first_line: line, name } = one.function;
        const key = `${file}:${line}:${name}`;
        this._functions.delete(key);
        this._functions.set(key, one);
      }
      this._changed.emit();
    } catch {
      return; // the kernel went away; the next one is asked anew
    } finally {
      this._isAsking = false;
    }
    await this._ask();
  }

  private readonly _changed = new Signal<this, void>(this);
  private readonly _functions = new Map<string, MarkedPayload>();
  private _latest = 0;
  private _isAsking = false;
}
