/**
 * An answer of the kernel that is asked for again and again.
 */

/** Asks one question at a time, and keeps the latest answer. */
export class Feed<A> {
  /**
   * @param ask asks the kernel.
   * @param changed is called when anything here has changed.
   */
  constructor(ask: () => Promise<A>, changed: () => void) {
    this._ask = ask;
    this._changed = changed;
  }

  /** The latest answer; null until there is one. */
  get answer(): A | null {
    return this._answer;
  }

  /** Why the latest question was not answered. */
  get error(): string {
    return this._error;
  }

  /** Whether an answer is waited for. */
  get isAsking(): boolean {
    return this._isAsking;
  }

  /** Whether something may have happened since the latest question. */
  get isStale(): boolean {
    return this._isStale;
  }

  /** Says that the answer may be another by now. */
  expire(): void {
    this._isStale = true;
  }

  /** Asks; while an answer is waited for, asks once more after it. */
  async refresh(): Promise<void> {
    if (this._isAsking) {
      this._isStale = this._isWanted = true;
      return;
    }
    const turn = this._turn;
    this._isAsking = true;
    this._isStale = this._isWanted = false;
    this._changed();
    try {
      const answer = await this._ask();
      if (turn === this._turn) {
        this._answer = answer;
        this._error = '';
      }
    } catch (reason) {
      if (turn === this._turn) {
        this._error = reason instanceof Error ? reason.message : String(reason);
      }
    }
    if (turn !== this._turn) {
      return; // cleared meanwhile: the answer is another kernel's
    }
    this._isAsking = false;
    this._changed();
    if (this._isWanted) {
      await this.refresh();
    }
  }

  /** Forgets the answer, and one that is waited for. */
  clear(): void {
    this._turn += 1;
    this._answer = null;
    this._error = '';
    this._isAsking = this._isWanted = false;
    this._isStale = true;
    this._changed();
  }

  private readonly _ask: () => Promise<A>;
  private readonly _changed: () => void;
  private _answer: A | null = null;
  private _error = '';
  private _isAsking = false;
  private _isStale = true;
  private _isWanted = false;
  private _turn = 0;
}

/** Calls an action soon, at most once in an interval. */
export class Pace {
  constructor(action: () => void) {
    this._action = action;
  }

  /** Asks for a call, so many milliseconds after the one before at the earliest. */
  request(interval: number): void {
    if (this._timer === null) {
      const wait = Math.max(this._latest + interval - Date.now(), 0);
      this._timer = setTimeout(() => this._call(), wait);
    }
  }

  /** Drops a call that is due. */
  cancel(): void {
    if (this._timer !== null) {
      clearTimeout(this._timer);
      this._timer = null;
    }
  }

  private _call(): void {
    this._timer = null;
    this._latest = Date.now();
    this._action();
  }

  private readonly _action: () => void;
  private _latest = Number.NEGATIVE_INFINITY;
  private _timer: ReturnType<typeof setTimeout> | null = null;
}
