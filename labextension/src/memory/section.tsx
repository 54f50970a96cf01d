/**
 * The panel's section of live arrays.
 */

import React from 'react';

import type { LiveAnswer } from '../protocol';
import { ask } from '../shared/asking';
import { Feed } from '../shared/feed.ts';
import type { ICommands, IPanel, IPreferences, ISection } from '../tokens';
import { LiveSection } from './live';
import { release } from './release';

/** Lists live arrays; those that variables hold can be released. */
export class Section implements ISection {
  constructor(
    private readonly _panel: IPanel,
    private readonly _commands: ICommands,
    private readonly _preferences: IPreferences
  ) {
    this.feed = new Feed(
      () => ask(_panel.session, 'live', { holders: this._holders }),
      () => _panel.redraw()
    );
  }

  readonly id = 'live';
  readonly name = 'Arrays';
  readonly rank = 2;
  readonly filtered = 'arrays';
  readonly hasFirst = false;
  readonly feed: Feed<LiveAnswer>;

  draw(): React.JSX.Element | null {
    const { answer } = this.feed;
    return (
      answer && (
        <LiveSection
          answer={answer}
          filter={this._panel.filter}
          smallArray={this._preferences.values.smallArray}
          holders={this._holders}
          onHolders={holders => {
            this._holders = holders;
            void this.feed.refresh();
          }}
          release={names => this._release(names)}
        />
      )
    );
  }

  private _release(names: readonly string[]): void {
    void this._commands.act(async session => {
      if (await release(session, names)) {
        this._panel.expire();
      }
    });
  }

  private _holders = false;
}
