/**
 * The front end's side of the comm, for one notebook or console.
 *
 * The kernel opens a comm when its extension is loaded. A front end that comes later finds it by
 * asking; where another front end closed it, it opens one of its own. Either way it says `sync`,
 * and is told how things are.
 */

import type { ISessionContext } from '@jupyterlab/apputils';
import type { Kernel, KernelMessage } from '@jupyterlab/services';
import { PromiseDelegate, UUID } from '@lumino/coreutils';
import type { JSONObject } from '@lumino/coreutils';
import type { ISignal } from '@lumino/signaling';
import { Signal } from '@lumino/signaling';

import type { FromFront, FromKernel, Status, WireEvent, Work } from '../protocol';
import { TARGET, VERSION } from '../protocol';
import type { ISession, SessionChange } from '../tokens';
import { EventLog } from './events';

/** Follows a session context through kernels, restarts and lost connections. */
export class Session implements ISession {
  constructor(readonly context: ISessionContext) {
    context.kernelChanged.connect(this._onKernelChanged, this);
    context.statusChanged.connect(this._onStatusChanged, this);
    context.connectionStatusChanged.connect(this._onConnectionChanged, this);
    context.disposed.connect(this.dispose, this);
    this._attach(context.session?.kernel ?? null);
  }

  get changed(): ISignal<this, SessionChange> {
    return this._changed;
  }

  get disposed(): ISignal<this, void> {
    return this._disposed;
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  get status(): Status | null {
    return this._status;
  }

  get isNewer(): boolean {
    return this._isNewer;
  }

  get work(): Work | null {
    return this._work;
  }

  get events(): readonly WireEvent[] {
    return this._log.events;
  }

  get leftOut(): number {
    return this._log.leftOut;
  }

  get dropped(): number {
    return this._dropped;
  }

  async request<T>(name: string, arguments_: Record<string, unknown> = {}): Promise<T> {
    const comm = this._comm;
    if (comm === null || comm.isDisposed) {
      throw new Error('jxkernel is not loaded in this kernel: run %load_ext jxkernel');
    }
    const id = UUID.uuid4();
    const answer = new PromiseDelegate<unknown>();
    this._waiting.set(id, answer);
    this._send(comm, { type: 'request', version: VERSION, id, name, arguments: arguments_ });
    return answer.promise as Promise<T>;
  }

  dispose(): void {
    if (this._isDisposed) {
      return;
    }
    this._isDisposed = true;
    this._detach();
    this._disposed.emit();
    Signal.clearData(this);
  }

  private _onKernelChanged(
    _: ISessionContext,
    change: { newValue: Kernel.IKernelConnection | null }
  ): void {
    this._attach(change.newValue);
  }

  private _onStatusChanged(_: ISessionContext, status: Kernel.Status): void {
    if (['restarting', 'autorestarting', 'terminating', 'dead', 'unknown'].includes(status)) {
      this._reset('The kernel has gone away');
    }
  }

  private _onConnectionChanged(_: ISessionContext, status: Kernel.ConnectionStatus): void {
    if (status === 'connected') {
      void this._find();
    }
  }

  private _attach(kernel: Kernel.IKernelConnection | null): void {
    if (kernel === this._kernel) {
      return;
    }
    this._detach();
    this._kernel = kernel;
    if (kernel?.handleComms) {
      kernel.registerCommTarget(TARGET, this._onOpened);
      void this._find();
    }
    this._changed.emit('status');
  }

  private _detach(): void {
    if (this._kernel && !this._kernel.isDisposed) {
      this._kernel.removeCommTarget(TARGET, this._onOpened);
    }
    this._kernel = null;
    this._reset('The notebook has another kernel');
  }

  /** Joins the comm that the kernel has, if its extension is loaded. */
  private async _find(): Promise<void> {
    const kernel = this._kernel;
    if (!kernel || kernel.connectionStatus !== 'connected') {
      return;
    }
    let reply: KernelMessage.ICommInfoReplyMsg;
    try {
      reply = await kernel.requestCommInfo({ target_name: TARGET });
    } catch {
      return; // the kernel went away meanwhile
    }
    if (this._isDisposed || kernel !== this._kernel || reply.content.status !== 'ok') {
      return;
    }
    for (const id of Object.keys(reply.content.comms)) {
      if (this._comm?.commId === id) {
        this._send(this._comm, { type: 'sync', version: VERSION });
      } else if (!kernel.hasComm(id)) {
        this._join(kernel.createComm(TARGET, id));
      }
      return;
    }
  }

  private readonly _onOpened = (comm: Kernel.IComm): void => {
    this._reset('jxkernel was loaded again');
    this._join(comm);
  };

  private _join(comm: Kernel.IComm): void {
    this._comm = comm;
    comm.onMsg = message => {
      if (comm === this._comm) {
        this._receive(message.content.data as unknown as FromKernel);
      }
    };
    comm.onClose = () => {
      if (comm === this._comm) {
        this._reset('jxkernel was unloaded');
      }
    };
    this._send(comm, { type: 'sync', version: VERSION });
  }

  private _send(comm: Kernel.IComm, message: FromFront): void {
    try {
      comm.send(message as unknown as JSONObject);
    } catch {
      this._reset('The kernel has gone away');
    }
  }

  private _receive(message: FromKernel): void {
    if (message.version > VERSION) {
      this._isNewer = true;
      this._changed.emit('status');
      return;
    }
    switch (message.type) {
      case 'status':
        this._status = message;
        this._changed.emit('status');
        break;
      case 'working':
        this._work = message.work;
        this._changed.emit('work');
        break;
      case 'batch':
        this._log.add(message.events);
        this._dropped = message.dropped;
        this._changed.emit('events');
        break;
      case 'history':
        this._log.replace(message.events, message.left_out);
        this._dropped = message.dropped;
        this._changed.emit('events');
        break;
      case 'reply':
        this._answer(message.id, message.value, message.error);
        break;
    }
  }

  private _answer(id: string, value: unknown, error: string): void {
    const waiting = this._waiting.get(id);
    this._waiting.delete(id);
    if (error) {
      waiting?.reject(new Error(error));
    } else {
      waiting?.resolve(value);
    }
  }

  /** Forgets what the kernel said; those who wait for answers are told why there is none. */
  private _reset(why: string): void {
    const waiting = [...this._waiting.values()];
    this._waiting.clear();
    waiting.forEach(one => one.reject(new Error(why)));
    const wasLoaded = this._comm !== null;
    this._comm = null;
    this._status = null;
    this._work = null;
    this._isNewer = false;
    this._dropped = 0;
    this._log.replace([], 0);
    if (wasLoaded && !this._isDisposed) {
      this._changed.emit('status');
      this._changed.emit('work');
      this._changed.emit('events');
    }
  }

  private readonly _changed = new Signal<this, SessionChange>(this);
  private readonly _disposed = new Signal<this, void>(this);
  private readonly _log = new EventLog();
  private readonly _waiting = new Map<string, PromiseDelegate<unknown>>();
  private _kernel: Kernel.IKernelConnection | null = null;
  private _comm: Kernel.IComm | null = null;
  private _status: Status | null = null;
  private _work: Work | null = null;
  private _dropped = 0;
  private _isNewer = false;
  private _isDisposed = false;
}
