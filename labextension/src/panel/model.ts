/**
 * The panel's state: what was asked of the session worked in, and which section is shown.
 */

import { VDomModel } from '@jupyterlab/apputils';

import type { Answers } from '../protocol';
import type { IPreferences, ISession, ISessions, SessionChange } from '../tokens';
import { BackendModel } from './backend.ts';
import { Feed, Pace } from './feed.ts';

/** A section of the panel. */
export type Section = 'ledger' | 'functions' | 'live' | 'backend' | 'cluster';

/** The sections in their order, with their names. */
export const SECTIONS: readonly (readonly [Section, string])[] = [
  ['ledger', 'Ledger'],
  ['functions', 'Functions'],
  ['live', 'Arrays'],
  ['backend', 'Devices'],
  ['cluster', 'Cluster']
];

/** Milliseconds between two looks at a cluster. */
const LOOK = 2000;

/** Asks a session for what is answered under a name. */
export async function ask<K extends keyof Answers>(
  session: ISession | null,
  name: K,
  arguments_: Record<string, unknown> = {}
): Promise<Answers[K]> {
  if (!session) {
    throw new Error('No notebook or console is open');
  }
  return session.request<Answers[K]>(name, arguments_);
}

/** Follows the session worked in; asks it for the section that is shown, after each cell. */
export class PanelModel extends VDomModel {
  constructor(
    private readonly _sessions: ISessions,
    private readonly _preferences: IPreferences
  ) {
    super();
    const changed = (): void => this.stateChanged.emit();
    const current = (): ISession | null => this._session;
    this.ledger = new Feed(() => ask(current(), 'ledger'), changed);
    this.functions = new Feed(() => ask(current(), 'functions'), changed);
    this.live = new Feed(() => ask(current(), 'live', { holders: this._holders }), changed);
    this.cluster = new Feed(
      () => ask(current(), 'cluster'),
      () => this._onCluster()
    );
    this.backend = new BackendModel((name, arguments_) => ask(current(), name, arguments_), changed);
    _sessions.currentChanged.connect(this._onCurrentChanged, this);
    _preferences.changed.connect(changed, this);
    this._follow(_sessions.current);
  }

  readonly ledger: Feed<Answers['ledger']>;
  readonly functions: Feed<Answers['functions']>;
  readonly live: Feed<Answers['live']>;
  readonly cluster: Feed<Answers['cluster']>;
  readonly backend: BackendModel;

  get session(): ISession | null {
    return this._session;
  }

  get preferences(): IPreferences {
    return this._preferences;
  }

  /** Whether the kernel's jxkernel is there and speaks a version that is known. */
  get isReady(): boolean {
    return !!this._session?.status && !this._session.isNewer;
  }

  get section(): Section {
    return this._section;
  }

  set section(section: Section) {
    if (section !== this._section) {
      this._section = section;
      this.stateChanged.emit();
      this._refreshStale();
    }
  }

  /** Whether the panel can be seen: nothing is asked for one that cannot. */
  get isVisible(): boolean {
    return this._isVisible;
  }

  set isVisible(isVisible: boolean) {
    this._isVisible = isVisible;
    if (isVisible) {
      this._refreshStale();
    } else {
      this._pace.cancel();
    }
  }

  /** Whether live arrays are asked for with holders besides variables and outputs. */
  get holders(): boolean {
    return this._holders;
  }

  set holders(holders: boolean) {
    this._holders = holders;
    void this.live.refresh();
  }

  /** The words that the lists are filtered by. */
  get filter(): string {
    return this._filter;
  }

  set filter(filter: string) {
    this._filter = filter;
    this.stateChanged.emit();
  }

  /** What the section shown is fed by. */
  get feed(): Feed<Answers[Section]> {
    const feeds: Record<Section, Feed<Answers[Section]>> = {
      ledger: this.ledger,
      functions: this.functions,
      live: this.live,
      backend: this.backend.state,
      cluster: this.cluster
    };
    return feeds[this._section];
  }

  /** Asks for the section shown, now. */
  refresh(): void {
    if (this.isReady) {
      void this.feed.refresh();
    }
  }

  /** Says that everything may be another by now. */
  expire(): void {
    this._expire();
    this._refreshStale();
  }

  override dispose(): void {
    if (this.isDisposed) {
      return;
    }
    this._pace.cancel();
    this._look.cancel();
    this.backend.dispose();
    this._session?.changed.disconnect(this._onSessionChanged, this);
    this._sessions.currentChanged.disconnect(this._onCurrentChanged, this);
    super.dispose();
  }

  private _onCurrentChanged(_: ISessions, session: ISession | null): void {
    this._follow(session);
  }

  private _follow(session: ISession | null): void {
    this._session?.changed.disconnect(this._onSessionChanged, this);
    this._session = session;
    session?.changed.connect(this._onSessionChanged, this);
    this._latest = 0;
    this._clear();
  }

  private _onSessionChanged(session: ISession, change: SessionChange): void {
    if (change === 'events') {
      this._onEvents(session);
    } else if (change === 'status') {
      this._onStatus();
    }
  }

  /** A kernel that came or went away; or one whose backend was changed, maybe by code. */
  private _onStatus(): void {
    if (this.isReady !== this._wasReady) {
      this._clear();
    } else {
      this.backend.state.expire();
      this._refreshStale();
    }
    this.stateChanged.emit();
  }

  private _onEvents(session: ISession): void {
    const ended = session.events.filter(
      one => one.kind === 'CellFinished' && one.start_ns + one.duration_ns > this._latest
    );
    if (!ended.length) {
      return;
    }
    this._latest = Math.max(...ended.map(one => one.start_ns + one.duration_ns));
    this._expire();
    const seconds = this._preferences.values.panelRefresh;
    if (this._isVisible && seconds > 0) {
      this._pace.request(seconds * 1000);
    }
  }

  private _expire(): void {
    const { ledger, functions, live, backend, cluster } = this;
    [ledger, functions, live, backend.state, cluster].forEach(one => one.expire());
  }

  /** Ranks move while a cell runs, so a cluster that is shown is looked at again and again. */
  private _onCluster(): void {
    this.stateChanged.emit();
    if (!this.cluster.isAsking && this.cluster.answer?.ranks.length) {
      this._look.request(LOOK);
    }
  }

  private _lookAgain(): void {
    if (this._isVisible && this._section === 'cluster') {
      this.refresh();
    } else {
      this.cluster.expire();
    }
  }

  private _clear(): void {
    this._wasReady = this.isReady;
    this._pace.cancel();
    [this.ledger, this.functions, this.live, this.cluster].forEach(one => one.clear());
    this.backend.clear();
    this._refreshStale();
    this.stateChanged.emit();
  }

  private _refreshStale(): void {
    if (this._isVisible && this.feed.isStale) {
      this.refresh();
    }
  }

  private readonly _pace = new Pace(() => this._refreshStale());
  private readonly _look = new Pace(() => this._lookAgain());
  private _session: ISession | null = null;
  private _section: Section = 'ledger';
  private _isVisible = false;
  private _wasReady = false;
  private _holders = false;
  private _filter = '';
  private _latest = 0;
}
