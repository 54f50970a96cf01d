/**
 * The backend's form: what was chosen, what that would do, and doing it.
 */

import type { Answers, BackendAnswer, PreviewAnswer } from '../protocol';
import { Feed, Pace } from '../shared/feed.ts';
import type { IChoice } from './choice.ts';
import { changeOf, isCount, unchanged } from './choice.ts';

/** Asks the kernel. */
export type Ask = <K extends 'backend' | 'preview' | 'apply'>(
  name: K,
  arguments_: Record<string, unknown>
) => Promise<Answers[K]>;

/** Milliseconds between two questions while the form is being filled in. */
const PACE = 200;

/** Keeps a choice, asks what it would do, and applies it. */
export class BackendModel {
  constructor(ask: Ask, changed: () => void) {
    this._ask = ask;
    this._changed = changed;
    const state = (): Promise<BackendAnswer> => ask('backend', { start: this._starts });
    this.state = new Feed(state, () => this._onState());
    this.preview = new Feed(() => this._preview(), changed);
  }

  /** What computes now. */
  readonly state: Feed<BackendAnswer>;
  /** What the choice would do. */
  readonly preview: Feed<PreviewAnswer | null>;

  /** What the form shows; null until it is known what there is. */
  get choice(): IChoice | null {
    const state = this.state.answer;
    return state?.is_started ? { ...unchanged(state), ...this._chosen } : null;
  }

  /** What would be changed; null for nothing. */
  get change(): Record<string, string | number | boolean> | null {
    const state = this.state.answer;
    return this.choice && state ? changeOf(this.choice, state) : null;
  }

  /** Whether the change is being made. */
  get isApplying(): boolean {
    return this._isApplying;
  }

  /** What was done last, or why it was not. */
  get outcome(): { readonly text: string; readonly isError: boolean } | null {
    return this._outcome;
  }

  /** Whether what the preview shows is what would be done, and can be. */
  get canApply(): boolean {
    const { preview } = this;
    return (
      !!this.change &&
      !this._isApplying &&
      !preview.isAsking &&
      !preview.isStale &&
      !preview.error &&
      !!preview.answer?.changes &&
      !preview.answer.restart.length
    );
  }

  /** Starts the platform that is the default one. */
  start(): void {
    this._starts = true;
    void this.state.refresh();
  }

  /** Chooses something in the form. */
  choose(chosen: Partial<IChoice>): void {
    this._chosen = { ...this._chosen, ...chosen };
    this._outcome = null;
    this.preview.expire();
    this._changed();
    this._pace.request(PACE);
  }

  /** Takes back what was chosen. */
  undo(): void {
    this._pace.cancel();
    this._chosen = {};
    this._outcome = null;
    this.preview.clear();
  }

  /** Does what was previewed. */
  async apply(): Promise<void> {
    const change = this.change;
    if (!change || !this.canApply) {
      return;
    }
    this._isApplying = true;
    this._changed();
    try {
      const done = await this._ask('apply', { change });
      this._chosen = {};
      this.preview.clear();
      this._outcome = { text: `Done. ${done.text}`, isError: false };
    } catch (reason) {
      const text = reason instanceof Error ? reason.message : String(reason);
      this._outcome = { text, isError: true };
    }
    this._isApplying = false;
    this._changed();
    await this.state.refresh();
  }

  /** Forgets everything: the kernel is another. */
  clear(): void {
    this._pace.cancel();
    this._starts = this._isApplying = false;
    this._chosen = {};
    this._outcome = null;
    this.preview.clear();
    this.state.clear();
  }

  /** Asks no more. */
  dispose(): void {
    this._pace.cancel();
  }

  /** What was chosen may be what there is by now, and what it would do is to be asked again. */
  private _onState(): void {
    if (!this.state.isAsking && this.change) {
      this.preview.expire();
      this._pace.request(PACE);
    }
    this._changed();
  }

  private async _preview(): Promise<PreviewAnswer | null> {
    const { change } = this;
    const state = this.state.answer;
    if (!change || !state) {
      return null;
    }
    if (typeof change['cpu_devices'] === 'number' && !isCount(change['cpu_devices'], state)) {
      throw new Error(`The number of CPU devices goes from 1 to ${state.most_cpu_devices}`);
    }
    return this._ask('preview', { change });
  }

  private readonly _ask: Ask;
  private readonly _changed: () => void;
  private readonly _pace = new Pace(() => void this.preview.refresh());
  private _chosen: Partial<IChoice> = {};
  private _starts = false;
  private _isApplying = false;
  private _outcome: { readonly text: string; readonly isError: boolean } | null = null;
}
