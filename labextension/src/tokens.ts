/**
 * What the plugins give each other. One plugin for each folder; none imports another's code but
 * through these.
 */

import type { ISessionContext } from '@jupyterlab/apputils';
import type { Cell } from '@jupyterlab/cells';
import type { IRenderMime } from '@jupyterlab/rendermime-interfaces';
import { Token } from '@lumino/coreutils';
import type { IDisposable, IObservableDisposable } from '@lumino/disposable';
import type { ISignal } from '@lumino/signaling';
import type { Widget } from '@lumino/widgets';

import type { Payloads, Status, WireEvent, Work } from './protocol';
import type { IPreferenceValues } from './settings/values';

/** What has changed of a session. */
export type SessionChange = 'status' | 'work' | 'events';

/** What a front end knows of one kernel's jxkernel: the session of one notebook or console. */
export interface ISession extends IObservableDisposable {
  /** Emits what has changed. */
  readonly changed: ISignal<ISession, SessionChange>;
  /** The notebook's or console's session; its kernel may change. */
  readonly context: ISessionContext;
  /** How the kernel's jxkernel is; null where the extension is not loaded or no kernel runs. */
  readonly status: Status | null;
  /** Whether the kernel's jxkernel speaks a newer version than this code knows. */
  readonly isNewer: boolean;
  /** The stage that has been under way for a while. */
  readonly work: Work | null;
  /** The latest events, oldest first; bounded. */
  readonly events: readonly WireEvent[];
  /** How many events there were that are not among them. */
  readonly leftOut: number;
  /** How many events the kernel did not send, for there were too many at once. */
  readonly dropped: number;
  /**
   * Asks the kernel for what `Channel.answer` knows under a name. While a cell runs the answer may
   * have to wait for it.
   *
   * It is rejected with the kernel's words, or when the kernel goes away. Call it for a user's
   * action only, never because an output is shown.
   */
  request<T>(name: string, arguments_?: Record<string, unknown>): Promise<T>;
}

/** The sessions of all open notebooks and consoles. */
export interface ISessions {
  /** That of the notebook or console worked in last; null where there is none. */
  readonly current: ISession | null;
  /** Emits when another notebook or console is worked in. */
  readonly currentChanged: ISignal<ISessions, ISession | null>;
  /** That of a notebook or console. */
  of(context: ISessionContext): ISession;
}

export const ISessions = new Token<ISessions>(
  'jxkernel:ISessions',
  'What each open notebook’s jxkernel says of itself.'
);

/** What a view is drawn from. */
export interface IViewOptions<K extends keyof Payloads> {
  /** The output's data. */
  readonly data: Payloads[K];
  /** The view as text, to be copied. */
  readonly text: string;
  /** The output: its metadata may be written to, to keep what was folded. */
  readonly model: IRenderMime.IMimeModel;
  /** Whether the notebook is trusted; a view of one that is not runs nothing. */
  readonly trusted: boolean;
}

/** Draws a kind of view, as a widget that is put into the output. */
export type ViewFactory<K extends keyof Payloads> = (
  options: IViewOptions<K>
) => Widget | Promise<Widget>;

/** The views: plugins add how a kind is drawn. */
export interface IViews {
  /**
   * Draws outputs of a kind from now on.
   *
   * Where the data is of a newer format, or drawing fails, the output is shown as it is without
   * this extension.
   */
  add<K extends keyof Payloads>(kind: K, factory: ViewFactory<K>): IDisposable;
  /** Draws a view that is part of another; null where nobody draws its kind, or such data. */
  draw<K extends keyof Payloads>(kind: K, options: IViewOptions<K>): Promise<Widget> | null;
}

export const IViews = new Token<IViews>('jxkernel:IViews', 'Draws the outputs of jxkernel.');

/** The marks in cells' editors: what was traced, static, a constant, a side effect. */
export interface IMarks {
  /** Whether they are shown. */
  isOn: boolean;
  /** Whether lines show what they cost. */
  showsCosts: boolean;
  /** Emits when they are shown or hidden. */
  readonly changed: ISignal<IMarks, void>;
  /**
   * Explains what is marked where an editor's cursor stands, in a tooltip and to a screen reader.
   *
   * @returns whether anything is marked there.
   */
  explain(editor: Cell['editor']): boolean;
}

export const IMarks = new Token<IMarks>(
  'jxkernel:IMarks',
  'The marks of traced and static names in cells’ editors.'
);

/** A line of the user's code. */
export interface IPlace {
  /** As the kernel names it: of a cell, the file that IPython keeps it under. */
  readonly file: string;
  readonly line: number;
}

/** The line that is lit up, in all views and in the cells' editors. */
export interface IPlaces {
  readonly current: IPlace | null;
  readonly changed: ISignal<IPlaces, IPlace | null>;
  /** Lights up a line; null none. */
  select(place: IPlace | null): void;
}

export const IPlaces = new Token<IPlaces>(
  'jxkernel:IPlaces',
  'The line of the user’s code that was chosen in a view.'
);

/** The settings, as they are now. */
export interface IPreferences {
  readonly values: IPreferenceValues;
  /** Emits when any has changed. */
  readonly changed: ISignal<IPreferences, IPreferenceValues>;
  /** Changes one, for good. */
  set<K extends keyof IPreferenceValues>(name: K, value: IPreferenceValues[K]): Promise<void>;
}

export const IPreferences = new Token<IPreferences>(
  'jxkernel:IPreferences',
  'The settings of jxkernel.'
);

/** The names of the commands. */
export const CommandIDs = {
  showPanel: 'jxkernel:show-panel',
  showLedger: 'jxkernel:show-ledger',
  explainCell: 'jxkernel:explain-cell',
  explainName: 'jxkernel:explain-name',
  clearCaches: 'jxkernel:clear-caches',
  toggleTeaching: 'jxkernel:toggle-teaching',
  toggleMarks: 'jxkernel:toggle-marks',
  toggleCosts: 'jxkernel:toggle-costs',
  selectBackend: 'jxkernel:select-backend',
  load: 'jxkernel:load'
} as const;
