/**
 * The sessions of all notebooks and consoles, and which of them is worked in.
 */

import type { ISessionContext } from '@jupyterlab/apputils';
import type { ISignal } from '@lumino/signaling';
import { Signal } from '@lumino/signaling';

import type { ISession, ISessions } from '../tokens';
import { Session } from './session';

/** Makes a session once for each context, and drops it with the context. */
export class Sessions implements ISessions {
  get current(): ISession | null {
    return this._current;
  }

  get currentChanged(): ISignal<this, ISession | null> {
    return this._currentChanged;
  }

  of(context: ISessionContext): ISession {
    let session = this._sessions.get(context);
    if (!session) {
      session = new Session(context);
      this._sessions.set(context, session);
      session.disposed.connect(this._onDisposed, this);
    }
    return session;
  }

  /** Says which notebook or console is worked in. */
  select(context: ISessionContext | null): void {
    const session = context && !context.isDisposed ? this.of(context) : null;
    if (session !== this._current) {
      this._current = session;
      this._currentChanged.emit(session);
    }
  }

  private _onDisposed(session: ISession): void {
    this._sessions.delete(session.context);
    if (session === this._current) {
      this.select(null);
    }
  }

  private readonly _sessions = new Map<ISessionContext, Session>();
  private readonly _currentChanged = new Signal<this, ISession | null>(this);
  private _current: ISession | null = null;
}
