/**
 * The front end's side of the comm, for one notebook or console.
 *
 * The kernel has a comm while its extension is loaded, and says so when it is. A front end that
 * comes later finds it by asking, or, while a cell runs and nothing is answered, by hearing the
 * kernel talk. Either way it says `sync`, and is told how things are.
 *
 * The messages are read off the kernel's connection, not handed to a comm of the application's:
 * that knows comms only for the first of a kernel's notebooks and consoles, and not whether one is
 * still there when a lost connection comes back.
 */

import type { ISessionContext } from '@jupyterlab/apputils';
import type { Kernel } from '@jupyterlab/services';
import { KernelMessage } from '@jupyterlab/services';
import type { JSONObject } from '@lumino/coreutils';
import { PromiseDelegate, UUID } from '@lumino/coreutils';
import type { ISignal } from '@lumino/signaling';
import { Signal } from '@lumino/signaling';

import type { FromFront, Status, WireEvent, Work } from '../protocol';
import { TARGET, VERSION } from '../protocol';
import { isEvent, isMessage, isObject } from '../shared/shapes';
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
    if (this._comm === null) {
      throw new Error('jxkernel is not loaded in this kernel: run %load_ext jxkernel');
    }
    if (this._kernel?.connectionStatus !== 'connected') {
      throw new Error('The kernel is not connected');
    }
    const beside = BESIDE.has(name) ? await this._beside() : null;
    const id = UUID.uuid4();
    const answer = new PromiseDelegate<unknown>();
    this._waiting.set(id, answer);
    this._send({ type: 'request', version: VERSION, id, name, arguments: arguments_ }, beside);
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
    // A kernel that is `unknown` is one that we lost sight of: it may go on, and so do we.
    if (['restarting', 'autorestarting', 'terminating', 'dead'].includes(status)) {
      this._reset('The kernel has gone away');
    }
  }

  private _onConnectionChanged(_: ISessionContext, status: Kernel.ConnectionStatus): void {
    if (status === 'connected') {
      void this._find();
    } else {
      this._refuse('The connection was lost before the answer came');
    }
  }

  private _attach(kernel: Kernel.IKernelConnection | null): void {
    if (kernel === this._kernel) {
      return;
    }
    this._detach();
    this._kernel = kernel;
    if (kernel) {
      kernel.iopubMessage.connect(this._onMessage, this);
      void this._find();
    }
    this._changed.emit('status');
  }

  private _detach(): void {
    this._kernel?.iopubMessage.disconnect(this._onMessage, this);
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
    const id = Object.keys(reply.content.comms).find(isOurs);
    if (id === undefined) {
      this._reset('jxkernel was unloaded');
    } else {
      this._join(id);
    }
  }

  /** Reads what the kernel says on our comm, whoever it says it to. */
  private _onMessage(_: Kernel.IKernelConnection, message: KernelMessage.IIOPubMessage): void {
    if (!KernelMessage.isCommMsgMsg(message) || !isOurs(message.content.comm_id)) {
      return;
    }
    const { comm_id: id, data } = message.content;
    if (isObject(data) && data.type === 'unloaded') {
      if (id === this._comm) {
        this._reset('jxkernel was unloaded');
      }
      return;
    }
    if (id !== this._comm) {
      this._join(id);
    }
    this._receive(data);
  }

  /** Takes up a comm, or the same one again, and asks how things are. */
  private _join(id: string): void {
    if (id !== this._comm) {
      this._reset('jxkernel was loaded again');
      this._comm = id;
    }
    this._send({ type: 'sync', version: VERSION });
  }

  private _send(data: FromFront, subshellId: string | null = null): void {
    const kernel = this._kernel;
    if (!kernel || this._comm === null) {
      return;
    }
    const message = KernelMessage.createMessage<KernelMessage.ICommMsgMsg<'shell'>>({
      msgType: 'comm_msg',
      channel: 'shell',
      username: kernel.username,
      session: kernel.clientId,
      subshellId,
      content: { comm_id: this._comm, data: data as unknown as JSONObject }
    });
    try {
      kernel.sendShellMessage(message, false, true);
    } catch {
      this._reset('The kernel has gone away');
    }
  }

  private _receive(message: unknown): void {
    if (isObject(message) && Number(message.version) > VERSION) {
      this._isNewer = true;
      this._changed.emit('status');
      return;
    }
    if (!isMessage(message)) {
      return; // of a type that is not known, or not as it should be
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
        this._log.add(message.events.filter(isEvent));
        this._dropped = message.dropped;
        this._changed.emit('events');
        break;
      case 'history':
        this._log.replace(message.events.filter(isEvent), message.left_out);
        this._dropped = message.dropped;
        this._changed.emit('events');
        break;
      case 'reply':
        this._answer(message.id, message.value, message.error);
        break;
      case 'loaded':
      case 'unloaded':
        break; // the comm was taken up or given up when the message came
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

  /** Forgets what the kernel said. */
  private _reset(why: string): void {
    this._refuse(why);
    const wasLoaded = this._comm !== null;
    this._comm = null;
    this._subshell = null;
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

  /** Those who wait for answers are told why there will be none. */
  private _refuse(why: string): void {
    const waiting = [...this._waiting.values()];
    this._waiting.clear();
    waiting.forEach(one => one.reject(new Error(why)));
  }

  /** The thread of the kernel that answers in the midst of a cell; null where there is none. */
  private async _beside(): Promise<string | null> {
    const kernel = this._kernel;
    if (!kernel?.supportsSubshells) {
      return null;
    }
    this._subshell ??= kernel
      .requestCreateSubshell({})
      .done.then(reply => reply.content.subshell_id)
      .catch(() => null);
    return this._subshell;
  }

  private readonly _changed = new Signal<this, SessionChange>(this);
  private readonly _disposed = new Signal<this, void>(this);
  private readonly _log = new EventLog();
  private readonly _waiting = new Map<string, PromiseDelegate<unknown>>();
  private _kernel: Kernel.IKernelConnection | null = null;
  private _comm: string | null = null;
  private _subshell: Promise<string | null> | null = null;
  private _status: Status | null = null;
  private _work: Work | null = null;
  private _dropped = 0;
  private _isNewer = false;
  private _isDisposed = false;
}

/** What is asked in the midst of cells, where the kernel can answer then. */
const BESIDE: ReadonlySet<string> = new Set(['cluster']);

/** Whether a comm's id says that it is jxkernel's. */
function isOurs(id: string): boolean {
  return id.startsWith(`${TARGET}-`);
}
