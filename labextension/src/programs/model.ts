/**
 * The state of one explorer: what is listed, which line is lit, and the rest of a long program.
 */

import type { IDisposable } from '@lumino/disposable';
import type { ISignal } from '@lumino/signaling';
import { Signal } from '@lumino/signaling';

import type { EquationPayload, JaxprPayload, ProgramPart, ProgramPayload } from '../protocol';
import type { IPlaces, ISessions } from '../tokens';
import { LinkedLines } from './linked.ts';
import { Listing } from './listing.ts';
import { rowsOf } from './rows.ts';

/** How many equations of a program are listed at most. */
const MOST = 200_000;

/** Holds a program, and what is shown of it. */
export class ProgramModel implements IDisposable {
  constructor(
    data: JaxprPayload,
    readonly places: IPlaces,
    private readonly _sessions: ISessions | null
  ) {
    this._data = data;
    this._take();
    places.changed.connect(this._onPlace, this);
  }

  /** Emits when anything is to be drawn anew. */
  get changed(): ISignal<this, void> {
    return this._changed;
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  get data(): JaxprPayload {
    return this._data;
  }

  get listing(): Listing {
    return this._listing;
  }

  /** The source lines, and the equations as lines, both by the line that they came from. */
  get source(): LinkedLines {
    return this._source;
  }

  get equations(): LinkedLines {
    return this._equations;
  }

  /** The row that the keyboard is at, as an index of rows; -1 for none. */
  get active(): number {
    return this._active;
  }

  /** Grows whenever the active row is to be brought into sight. */
  get request(): number {
    return this._request;
  }

  /** How many equations are not listed. */
  get leftOut(): number {
    return this._data.count - this._listing.count;
  }

  /** Whether what is listed came from the kernel, not from the notebook. */
  get isLoaded(): boolean {
    return this._isLoaded;
  }

  /** What is said of loading the rest; empty where nothing is to be said. */
  get notice(): string {
    return this._notice;
  }

  /** Whether the rest can be asked for: some equations are left out, and a kernel may have them. */
  get canLoad(): boolean {
    const isMore = this.leftOut > 0 && this._listing.count < MOST;
    return isMore && !!this._data.token && !!this._sessions && !this._isLoading;
  }

  /** Changes what is listed, and draws anew. */
  change(how: (listing: Listing) => void): void {
    how(this._listing);
    if (this._listing.current >= 0) {
      this._goTo(this._listing.current);
      this._light(this._listing.current);
    }
    this._changed.emit();
  }

  /** Makes a row the active one, and lights up its line. */
  select(index: number): void {
    this._active = index;
    this._light(index);
    this._changed.emit();
  }

  /** Shows an equation by its number, wherever it lies. */
  show(number: number): void {
    const index = this._listing.rowOf(number);
    if (index >= 0) {
      this._goTo(index);
      this.select(index);
    }
  }

  /** Asks the kernel for all equations, because the user clicked. */
  async load(): Promise<void> {
    const session = this._sessions?.current;
    if (!session?.status) {
      this._say('No kernel with jxkernel is running that could be asked for the rest.');
      return;
    }
    this._isLoading = true;
    this._say('asking the kernel …');
    try {
      await this._load((start: number) =>
        session.request<ProgramPart>('program', { token: this._data.token, start })
      );
      this._say('');
    } catch (error) {
      this._say(error instanceof Error ? error.message : String(error));
    } finally {
      this._isLoading = false;
      this._changed.emit();
    }
  }

  dispose(): void {
    if (!this._isDisposed) {
      this._isDisposed = true;
      this.places.changed.disconnect(this._onPlace, this);
      Signal.clearData(this);
    }
  }

  /** Lists the first part as soon as it is there, and more whenever there is twice as much. */
  private async _load(ask: (start: number) => Promise<ProgramPart>): Promise<void> {
    const equations: EquationPayload[] = [];
    const programs = new Map<string, ProgramPayload>();
    let isLast = false;
    let listed = 0;
    while (!isLast && equations.length < MOST && !this._isDisposed) {
      const part = await ask(equations.length);
      isLast = part.is_last;
      part.equations.forEach(one => equations.push(one));
      part.programs.forEach(one => programs.set(`${one.equation} ${one.label}`, one));
      if (isLast || equations.length >= Math.min(2 * listed, MOST)) {
        listed = equations.length;
        this._isLoaded = true;
        this._data = { ...this._data, equations: [...equations], programs: [...programs.values()] };
        this._take();
      }
      this._say('the rest comes …');
    }
  }

  private _take(): void {
    const active = this._listing?.rows[this._active]?.number ?? 0;
    this._listing = new Listing(rowsOf(this._data), this._listing);
    this._source = new LinkedLines(this._data.source);
    this._equations = new LinkedLines(
      this._listing.rows.map(one => ({
        text: one.text,
        file: one.equation?.file ?? '',
        line: one.equation?.line ?? 0
      }))
    );
    this._active = this._listing.rowOf(active);
  }

  private _say(notice: string): void {
    this._notice = notice;
    this._changed.emit();
  }

  private _light(index: number): void {
    const equation = this._listing.rows[index]?.equation;
    if (equation) {
      this._isLighting = true;
      this.places.select(equation.line ? { file: equation.file, line: equation.line } : null);
      this._isLighting = false;
    }
  }

  /** Brings the first equation of a line into sight that was chosen elsewhere. */
  private _onPlace(): void {
    const [first] = this._equations.of(this.places.current);
    if (!this._isLighting && first !== undefined) {
      this._goTo(first);
    }
    this._changed.emit();
  }

  private _goTo(index: number): void {
    this._listing.reveal(index);
    this._active = index;
    this._request += 1;
  }

  private readonly _changed = new Signal<this, void>(this);
  private _data: JaxprPayload;
  private _listing!: Listing;
  private _source!: LinkedLines;
  private _equations!: LinkedLines;
  private _active = -1;
  private _request = 0;
  private _notice = '';
  private _isLoaded = false;
  private _isLoading = false;
  private _isLighting = false;
  private _isDisposed = false;
}
