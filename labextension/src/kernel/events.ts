/**
 * The latest events of a session: bounded, each once.
 */

import type { WireEvent } from '../protocol';

/** Keeps the latest events by their numbers, which are unique in a kernel. */
export class EventLog {
  constructor(capacity = 5_000) {
    this._capacity = capacity;
  }

  /** The events kept, oldest first. */
  get events(): readonly WireEvent[] {
    return (this._listed ??= [...this._byNumber.values()]);
  }

  /** How many events were told of and are not kept. */
  get leftOut(): number {
    return this._leftOut;
  }

  /** Adds events; those that are here already are left alone. */
  add(events: readonly WireEvent[]): void {
    for (const one of events) {
      if (!this._byNumber.has(one.span)) {
        this._byNumber.set(one.span, one);
      }
    }
    this._forgetOldest();
    this._listed = null;
  }

  /** Begins anew, with the latest events of a history. */
  replace(events: readonly WireEvent[], leftOut: number): void {
    this._byNumber.clear();
    this._leftOut = leftOut;
    this.add(events);
  }

  private _forgetOldest(): void {
    let more = this._byNumber.size - this._capacity;
    for (const number of this._byNumber.keys()) {
      if (more-- <= 0) {
        return;
      }
      this._byNumber.delete(number);
      this._leftOut += 1;
    }
  }

  private readonly _capacity: number;
  private readonly _byNumber = new Map<number, WireEvent>();
  private _listed: readonly WireEvent[] | null = null;
  private _leftOut = 0;
}
