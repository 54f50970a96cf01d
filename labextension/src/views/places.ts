/**
 * The line that is lit up.
 */

import type { ISignal } from '@lumino/signaling';
import { Signal } from '@lumino/signaling';

import type { IPlace, IPlaces } from '../tokens';

/** Keeps the line and tells when it is another. */
export class Places implements IPlaces {
  get current(): IPlace | null {
    return this._current;
  }

  get changed(): ISignal<this, IPlace | null> {
    return this._changed;
  }

  select(place: IPlace | null): void {
    if (place?.file !== this._current?.file || place?.line !== this._current?.line) {
      this._current = place;
      this._changed.emit(place);
    }
  }

  private readonly _changed = new Signal<this, IPlace | null>(this);
  private _current: IPlace | null = null;
}
