/**
 * The state of one explorer: what is listed, which line is lit, and the rest of a long program.
 */

import type { IDisposable } from '@lumino/disposable';
import type { ISignal } from '@lumino/signaling';
import { Signal } from '@lumino/signaling';

import type {
  Answers,
  EquationPayload,
  JaxprPayload,
  ProgramPart,
  ProgramPayload
} from '../protocol';
import { ask } from '../shared/asking';
import type { IComparison, IComparisons, IKeptProgram, IPlaces, ISessions } from '../tokens';
import { addColumns } from './columns.ts';
import { LinkedLines } from './linked.ts';
import { Listing } from './listing.ts';
import { rowsOf } from './rows.ts';

/** How many equations of a program are listed at most. */
const MOST = 200_000;

/** Holds a program, and what is shown of it. */
export class ProgramModel implements IDisposable, IKeptProgram {
  constructor(
    data: JaxprPayload,
    readonly places: IPlaces,
    private readonly _sessions: ISessions | null,
    comparisons: IComparisons | null
  ) {
    this._data = data;
    this.comparison = data.token && _sessions && comparisons ? comparisons.of(this) : null;
    this._take();
    places.changed.connect(this._onPlace, this);
  }

  /** Its comparison with others; null where no kernel may have it. */
  readonly comparison: IComparison | null;

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
    this._isLoading = true;
    this.say('asking the kernel …');
    await this._telling(async () => {
      await this._load(start => this._ask('program_part', { start }));
      this.say('');
    });
    this._isLoading = false;
    this._changed.emit();
  }

  async ask<K extends keyof Answers>(
    name: K,
    arguments_: Record<string, unknown> = {}
  ): Promise<Answers[K] | null> {
    let answer: Answers[K] | null = null;
    await this._telling(async () => {
      answer = await this._ask(name, arguments_);
    });
    return answer;
  }

  say(notice: string): void {
    this._notice = notice;
    this._changed.emit();
  }

  dispose(): void {
    if (!this._isDisposed) {
      this._isDisposed = true;
      this.places.changed.disconnect(this._onPlace, this);
      Signal.clearData(this);
    }
  }

  /** Asks the kernel about the program. */
  private async _ask<K extends keyof Answers>(
    name: K,
    arguments_: Record<string, unknown>
  ): Promise<Answers[K]> {
    const session = this._sessions?.current;
    if (!session?.status) {
      throw new Error('No running kernel has jxkernel: nothing can be asked of it.');
    }
    return ask(session, name, { token: this._data.token, ...arguments_ });
  }

  /** Says what went wrong. */
  private async _telling(act: () => Promise<void>): Promise<void> {
    try {
      await act();
    } catch (error) {
      this.say(error instanceof Error ? error.message : String(error));
    }
  }

  /** Lists the first part as soon as it is there, and more whenever there is twice as much. */
  private async _load(ask: (start: number) => Promise<ProgramPart>): Promise<void> {
    const equations: EquationPayload[] = [];
    const programs = new Map<string, ProgramPayload>();
    let listed = 0;
    let next: Promise<ProgramPart> | null = ask(0);
    while (next && !this._isDisposed) {
      const part: ProgramPart = await next;
      const count = equations.length + part.equations.text.length;
      const isLast = part.is_last || count >= MOST;
      // Asked for before this part is taken in: the kernel makes it meanwhile.
      next = isLast ? null : ask(count);
      next?.catch(() => undefined); // told where it is awaited, if it still is
      addColumns(equations, part.equations);
      part.programs.forEach(one => programs.set(`${one.equation} ${one.label}`, one));
      if (isLast || equations.length >= 2 * listed) {
        listed = equations.length;
        this._isLoaded = true;
        this._data = { ...this._data, equations: [...equations], programs: [...programs.values()] };
        this._take();
      }
      this.say('the rest comes …');
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
