/**
 * The plugin of the panel's section of the cluster.
 */

import type { JupyterFrontEndPlugin } from '@jupyterlab/application';
import React from 'react';

import type { ClusterAnswer } from '../protocol';
import { ask } from '../shared/asking';
import { Feed, Pace } from '../shared/feed.ts';
import type { ISection } from '../tokens';
import { IPanel } from '../tokens';
import { ClusterSection } from './section';

/** Milliseconds between two looks at a cluster. */
const LOOK = 2000;

/** The section: ranks move while a cell runs, so one that is shown is looked at again and again. */
class Section implements ISection {
  constructor(private readonly _panel: IPanel) {
    this.feed = new Feed(
      () => ask(_panel.session, 'cluster'),
      () => this._onFed()
    );
  }

  readonly id = 'cluster';
  readonly name = 'Cluster';
  readonly rank = 4;
  readonly filtered = null;
  readonly hasFirst = false;
  readonly feed: Feed<ClusterAnswer>;

  draw(): React.JSX.Element | null {
    const { answer } = this.feed;
    return answer && <ClusterSection answer={answer} ways={this._panel.ways} />;
  }

  dispose(): void {
    this._look.cancel();
  }

  private _onFed(): void {
    this._panel.redraw();
    if (!this.feed.isAsking && this.feed.answer?.ranks.length) {
      this._look.request(LOOK);
    }
  }

  private _lookAgain(): void {
    if (this._panel.isShown(this)) {
      this._panel.refresh();
    } else {
      this.feed.expire();
    }
  }

  private readonly _look = new Pace(() => this._lookAgain());
}

const clusterPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jxkernel:cluster',
  description: 'Shows the ranks of a cluster in the panel.',
  autoStart: true,
  requires: [IPanel],
  activate: (_, panel: IPanel) => panel.add(new Section(panel))
};

export default [clusterPlugin];
