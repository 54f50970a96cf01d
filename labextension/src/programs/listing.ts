/**
 * Which rows of a program are shown: folded, searched, and up to a step of the trace.
 */

import { levels } from '../shared/texts.ts';
import type { IRow } from './rows.ts';

/** From how many rows on inner programs are folded at first. */
const MANY = 200;

/** The rows of a program and which of them are shown. */
export class Listing {
  /** Lists rows; folded, searched and stepped as those `before` where they are more of the same. */
  constructor(rows: readonly IRow[], before: Listing | null = null) {
    this.rows = rows;
    this.count = rows.reduce((sum, one) => sum + (one.kind === 'equation' ? 1 : 0), 0);
    this._step = this.count;
    if (rows.length > MANY) {
      this.foldAll();
    }
    if (before) {
      this._words = before.words;
      this._step = before.step < before.count ? before.step : this.count;
      before.rows.forEach((one, index) => {
        if (one.kind === 'equation' && before.isFoldable(index)) {
          this.fold(this.rowOf(one.number), before._folded.has(index));
        }
      });
    }
  }

  readonly rows: readonly IRow[];

  /** How many equations are listed. */
  readonly count: number;

  /** The length of the longest row, in characters. */
  get width(): number {
    return (this._width ??= this.rows.reduce(
      (most, one) => Math.max(most, one.text.length + 2 * indent(one)),
      0
    ));
  }

  /** The indexes of the rows that are shown. */
  get shown(): readonly number[] {
    return (this._shown ??= this._find());
  }

  /** How many equations fit the search; all where nothing is searched for. */
  get found(): number {
    this.shown;
    return this._found;
  }

  /** The words searched for. */
  get words(): string {
    return this._words;
  }

  set words(words: string) {
    this._words = words;
    this._shown = null;
  }

  /** Up to which equation the trace is shown, from 0 to `count`. */
  get step(): number {
    return this._step;
  }

  set step(step: number) {
    this._step = Math.max(0, Math.min(step, this.count));
    this._shown = null;
  }

  /** The row of the equation that the step has come to; -1 where all are shown, or none. */
  get current(): number {
    return this._step < this.count ? this.rowOf(this._step) : -1;
  }

  /** The row of an equation by its number; -1 where it is not listed. */
  rowOf(number: number): number {
    if (!this._rowsByNumber) {
      this._rowsByNumber = new Map();
      this.rows.forEach((one, index) => {
        if (one.kind === 'equation') {
          this._rowsByNumber?.set(one.number, index);
        }
      });
    }
    return this._rowsByNumber.get(number) ?? -1;
  }

  /** Whether a row holds rows that can be folded. */
  isFoldable(index: number): boolean {
    return (this.rows[index]?.end ?? 0) > index + 1;
  }

  /** Whether what a row holds is folded now; a search unfolds what it finds. */
  isFolded(index: number): boolean {
    return this._folded.has(index) && !this._words.trim();
  }

  /** Folds or unfolds what a row holds. */
  fold(index: number, isFolded: boolean): void {
    if (isFolded && this.isFoldable(index)) {
      this._folded.add(index);
    } else {
      this._folded.delete(index);
    }
    this._shown = null;
  }

  /** Folds every inner program. */
  foldAll(): void {
    this.rows.forEach((one, index) => {
      if (one.end > index + 1) {
        this._folded.add(index);
      }
    });
    this._shown = null;
  }

  /** Unfolds every inner program. */
  unfoldAll(): void {
    this._folded.clear();
    this._shown = null;
  }

  /** Unfolds what a row lies in, so that it can be shown. */
  reveal(index: number): void {
    for (let at = this.rows[index]?.parent ?? -1; at >= 0; at = this.rows[at]?.parent ?? -1) {
      this._folded.delete(at);
    }
    this._shown = null;
  }

  /** Where a row is among those that are shown; -1 where it is not. */
  position(index: number): number {
    let low = 0;
    let high = this.shown.length - 1;
    while (low <= high) {
      const middle = (low + high) >> 1;
      const at = this.shown[middle] as number;
      if (at === index) {
        return middle;
      }
      if (at < index) {
        low = middle + 1;
      } else {
        high = middle - 1;
      }
    }
    return -1;
  }

  /** The program as text: all rows, indented. */
  text(): string {
    return this.rows.map(one => `${'  '.repeat(indent(one))}${one.text}`).join('\n');
  }

  private _find(): number[] {
    const words = this._words.trim().toLowerCase();
    const kept = words ? this._matching(words) : null;
    this._found = this.count;
    if (kept) {
      this._found = kept.found;
    }
    const shown: number[] = [];
    let index = 0;
    while (index < this.rows.length) {
      const row = this.rows[index] as IRow;
      if (row.number > this._step) {
        index = row.end;
        continue;
      }
      if (!kept || kept.rows[index]) {
        shown.push(index);
      }
      index = !kept && this._folded.has(index) ? row.end : index + 1;
    }
    return shown;
  }

  /** The equations that have the words, and what is around them. */
  private _matching(words: string): { rows: Uint8Array; found: number } {
    this._lower ??= this.rows.map(one =>
      one.equation ? `${one.text} ${one.equation.file}`.toLowerCase() : ''
    );
    const rows = new Uint8Array(this.rows.length);
    let found = 0;
    this._lower.forEach((text, index) => {
      if (text && text.includes(words)) {
        found += 1;
        rows[index] = 1;
        let at = this.rows[index]?.parent ?? -1;
        while (at >= 0 && !rows[at]) {
          rows[at] = 1;
          at = this.rows[at]?.parent ?? -1;
        }
      }
    });
    return { rows, found };
  }

  private readonly _folded = new Set<number>();
  private _rowsByNumber: Map<number, number> | null = null;
  private _lower: string[] | null = null;
  private _shown: number[] | null = null;
  private _found = 0;
  private _width: number | null = null;
  private _words = '';
  private _step: number;
}

/** How far in a row stands: equations one step within their program's head and tail. */
export function indent(row: IRow): number {
  return 2 * levels(row.depth) + (row.kind === 'equation' || row.kind === 'more' ? 1 : 0);
}
