/**
 * Lines of text beside each other, linked by the line of the user's code that they came from.
 */

import type { StageLine } from '../protocol';

/** Says of each line of source which lines of a text came from it. */
export class LinkedLines {
  constructor(lines: readonly Pick<StageLine, 'text' | 'file' | 'line'>[]) {
    this.lines = lines;
    lines.forEach((one, index) => {
      if (one.line) {
        let ofFile = this._byPlace.get(one.file);
        if (!ofFile) {
          ofFile = new Map();
          this._byPlace.set(one.file, ofFile);
        }
        const known = ofFile.get(one.line);
        if (known) {
          known.push(index);
        } else {
          ofFile.set(one.line, [index]);
        }
      }
    });
  }

  readonly lines: readonly Pick<StageLine, 'text' | 'file' | 'line'>[];

  /** The lines that came from a line of source. */
  of(place: { file: string; line: number } | null): readonly number[] {
    return (place && this._byPlace.get(place.file)?.get(place.line)) ?? [];
  }

  /** The lines that have the words. */
  matching(words: string): number[] {
    const sought = words.trim().toLowerCase();
    if (!sought) {
      return [];
    }
    this._lower ??= this.lines.map(one => one.text.toLowerCase());
    const found: number[] = [];
    this._lower.forEach((text, index) => {
      if (text.includes(sought)) {
        found.push(index);
      }
    });
    return found;
  }

  /** The length of the longest line, in characters. */
  get width(): number {
    return (this._width ??= this.lines.reduce((most, one) => Math.max(most, one.text.length), 0));
  }

  private readonly _byPlace = new Map<string, Map<number, number[]>>();
  private _lower: string[] | null = null;
  private _width: number | null = null;
}

/** A place as a key. */
export function keyOf(place: { file: string; line: number }): string {
  return `${place.line}\0${place.file}`;
}
