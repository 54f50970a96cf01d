/**
 * What the plugins give each other. None imports another folder's code but through these, and
 * `shared`.
 */

import type { ISessionContext } from '@jupyterlab/apputils';
import type { Cell } from '@jupyterlab/cells';
import type { IRenderMime } from '@jupyterlab/rendermime-interfaces';
import type { CommandRegistry } from '@lumino/commands';
import { Token } from '@lumino/coreutils';
import type { IDisposable, IObservableDisposable } from '@lumino/disposable';
import type { ISignal } from '@lumino/signaling';
import type { Widget } from '@lumino/widgets';
import type React from 'react';

import type { Answers, Payloads, Status, WireEvent, Work } from './protocol';
import type { IPreferenceValues } from './settings/values';
import type { Feed } from './shared/feed';

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

/** A line's cost in words, and how hot it is, from 0 to 1: the costliest line of all is 1. */
export interface ILineCost {
  readonly text: string;
  readonly heat: number;
}

/** The cost of lines, by `file:line`. */
export type LineCosts = ReadonlyMap<string, ILineCost>;

/** What lines cost, for the marks in editors. */
export interface ILineCosts {
  /** What lines of all kernels cost; null where that is not to be shown. */
  readonly lines: LineCosts | null;
  /** Emits when it is another. */
  readonly changed: ISignal<ILineCosts, void>;
  /** Asks a session what its lines cost, while that is shown. */
  follow(session: ISession): void;
}

export const ILineCosts = new Token<ILineCosts>(
  'jxkernel:ILineCosts',
  'What lines of jitted code cost.'
);

/** A program that the kernel keeps, as the one who draws it lets others ask about it. */
export interface IKeptProgram {
  /** Asks the kernel about it. A failure is told beside the program. */
  ask<K extends keyof Answers>(
    name: K,
    arguments_?: Record<string, unknown>
  ): Promise<Answers[K] | null>;
  /** Says a sentence beside the program, and draws it anew; an empty one takes back the last. */
  say(notice: string): void;
}

/** A program's comparison with others, as a part of its view. */
export interface IComparison {
  /** Whether other programs are offered. */
  readonly isOffered: boolean;
  /** Asks what there is to compare with, because the user clicked; ends a comparison. */
  offer(): Promise<void>;
  /** Draws the choice of the other program; null where none is offered. */
  choice(): React.JSX.Element | null;
  /** Draws what was compared; null where nothing was. */
  difference(): React.JSX.Element | null;
}

/** Compares programs that the kernel keeps. */
export interface IComparisons {
  of(program: IKeptProgram): IComparison;
}

export const IComparisons = new Token<IComparisons>(
  'jxkernel:IComparisons',
  'Compares programs that the kernel keeps.'
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

/** The commands: each is there with a session of jxkernel only, unless it says otherwise. */
export interface ICommands {
  /** The session worked in, where its jxkernel is loaded and understood. */
  readonly session: ISession | null;
  /** The code cell worked in, where it is of the session worked in. */
  readonly codeCell: Cell | null;
  /** Adds a command, to the palette too; asks again whether it can be used as sessions change. */
  add(id: string, command: CommandRegistry.ICommandOptions): void;
  /** Does something to the session worked in; tells a failure where it is seen. */
  act(does: (session: ISession) => Promise<unknown>): Promise<void>;
}

export const ICommands = new Token<ICommands>('jxkernel:ICommands', 'The commands of jxkernel.');

/** The command that a click on the status asks for. */
export const SELECT_BACKEND = 'jxkernel:select-backend';

/** A section of the panel. */
export interface ISection {
  readonly id: string;
  /** Its tab. */
  readonly name: string;
  /** Sections of lower rank stand before it. */
  readonly rank: number;
  /** What the panel's filter is for; null where it has none. */
  readonly filtered: string | null;
  /** Whether it has a control that is to have the focus, with `data-jxk-first`. */
  readonly hasFirst: boolean;
  /** What it is fed by. */
  readonly feed: Feed<unknown>;
  /** Draws it; null until there is an answer. */
  draw(): React.JSX.Element | null;
  /** Called when the status of the session has changed. */
  onStatus?(): void;
  /** Called when the session is another: forgets what is known besides the feed. */
  clear?(): void;
  /** Called when the panel goes away. */
  dispose?(): void;
}

/** Ways from what the panel says to the code. */
export interface IWays {
  /** Whether a text names a cell that can be gone to. */
  canGo(text: string | null, cells: Record<string, string>): boolean;
  /** Goes to the cell that a text names. */
  go(text: string, cells: Record<string, string>): void;
  /** Opens a file of the user's at a line. */
  open(path: string, line: number): void;
}

/** The panel: features add their sections. */
export interface IPanel {
  /** The session that is shown. */
  readonly session: ISession | null;
  /** The words that lists are filtered by. */
  readonly filter: string;
  readonly ways: IWays;
  add(section: ISection): void;
  /** Shows the panel and a section of it. */
  show(id: string): void;
  /** Whether a section can be seen. */
  isShown(section: ISection): boolean;
  /** Asks for the section shown, now. */
  refresh(): void;
  /** Says that everything may be another by now. */
  expire(): void;
  /** Draws anew. */
  redraw(): void;
}

export const IPanel = new Token<IPanel>('jxkernel:IPanel', 'The panel of jxkernel.');
