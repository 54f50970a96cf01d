/**
 * The panel's state: the session worked in, the sections, and which of them is shown.
 */

import { VDomModel } from '@jupyterlab/apputils';

import { Pace } from '../shared/feed.ts';
import type { IPreferences, ISection, ISession, ISessions, SessionChange } from '../tokens';

/** Follows the session worked in; asks it for the section that is shown, after each cell. */
export class PanelModel extends VDomModel {
  constructor(
    private readonly _sessions: ISessions,
    private readonly _preferences: IPreferences
  ) {
    super();
    _sessions.currentChanged.connect(this._onCurrentChanged, this);
    _preferences.changed.connect(this.redraw, this);
    this._follow(_sessions.current);
  }

  get session(): ISession | null {
    return this._session;
  }

  /** Whether the kernel's jxkernel is there and speaks a version that is known. */
  get isReady(): boolean {
    return !!this._session?.status && !this._session.isNewer;
  }

  /** The sections in their order. */
  get sections(): readonly ISection[] {
    return this._sections;
  }

  /** The section shown: the first one until another was chosen. */
  get section(): ISection | null {
    return this._sections.find(one => one.id === this._chosen) ?? this._sections[0] ?? null;
  }

  /** Adds a section in its place. */
  add(section: ISection): void {
    this._sections.push(section);
    this._sections.sort((one, other) => one.rank - other.rank);
    this.redraw();
    this._refreshStale();
  }

  /** Shows a section. */
  choose(id: string): void {
    if (id !== this.section?.id) {
      this._chosen = id;
      this.redraw();
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

  /** The words that the lists are filtered by. */
  get filter(): string {
    return this._filter;
  }

  set filter(filter: string) {
    this._filter = filter;
    this.redraw();
  }

  /** Draws the panel anew. */
  redraw(): void {
    this.stateChanged.emit();
  }

  /** Asks for the section shown, now. */
  refresh(): void {
    if (this.isReady) {
      void this.section?.feed.refresh();
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
    this._sections.forEach(one => one.dispose?.());
    this._session?.changed.disconnect(this._onSessionChanged, this);
    this._sessions.currentChanged.disconnect(this._onCurrentChanged, this);
    this._preferences.changed.disconnect(this.redraw, this);
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

  /** A kernel that came or went away; or one that was changed, maybe by code. */
  private _onStatus(): void {
    if (this.isReady !== this._wasReady) {
      this._clear();
    } else {
      this._sections.forEach(one => one.onStatus?.());
      this._refreshStale();
    }
    this.redraw();
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
    this._sections.forEach(one => one.feed.expire());
  }

  private _clear(): void {
    this._wasReady = this.isReady;
    this._pace.cancel();
    for (const section of this._sections) {
      section.clear?.();
      section.feed.clear();
    }
    this._refreshStale();
    this.redraw();
  }

  private _refreshStale(): void {
    if (this._isVisible && this.section?.feed.isStale) {
      this.refresh();
    }
  }

  private readonly _pace = new Pace(() => this._refreshStale());
  private readonly _sections: ISection[] = [];
  private _session: ISession | null = null;
  private _chosen = '';
  private _isVisible = false;
  private _wasReady = false;
  private _filter = '';
  private _latest = 0;
}
