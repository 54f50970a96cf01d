/**
 * The plugins through which the others add how outputs are drawn, and light up lines in all views;
 * and the one that draws tables, which are of no feature.
 */

import type { JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ReactWidget } from '@jupyterlab/apputils';
import { IRenderMimeRegistry } from '@jupyterlab/rendermime';
import type { IDisposable } from '@lumino/disposable';
import { DisposableDelegate } from '@lumino/disposable';
import type { Widget } from '@lumino/widgets';
import React from 'react';

import type { Payloads } from '../protocol';
import { mimeType } from '../protocol';
import { isPayload } from '../shared/shapes';
import { TextTable } from '../shared/texttable';
import type { IViewOptions, ViewFactory } from '../tokens';
import { IPlaces, IViews } from '../tokens';
import { Places } from './places';
import { ViewRenderer } from './renderer';

/** Before HTML, which every view has too. */
const RANK = 10;

class Views implements IViews {
  constructor(private readonly _rendermime: IRenderMimeRegistry) {}

  add<K extends keyof Payloads>(kind: K, factory: ViewFactory<K>): IDisposable {
    const type = mimeType(kind);
    const mimeFactory = {
      safe: true,
      mimeTypes: [type],
      createRenderer: () => new ViewRenderer(kind, factory, this._rendermime)
    };
    this._rendermime.addFactory(mimeFactory, RANK);
    this._factories.set(kind, factory);
    return new DisposableDelegate(() => {
      this._factories.delete(kind);
      this._rendermime.removeMimeType(type);
    });
  }

  draw<K extends keyof Payloads>(kind: K, options: IViewOptions<K>): Promise<Widget> | null {
    const factory = this._factories.get(kind) as ViewFactory<K> | undefined;
    // What comes from within other data may bear fields of the view around it as well.
    const isKnown = isPayload(kind, options.data);
    return factory && isKnown ? Promise.resolve(factory(options)) : null;
  }

  private readonly _factories = new Map<keyof Payloads, unknown>();
}

const viewsPlugin: JupyterFrontEndPlugin<IViews> = {
  id: 'jxkernel:views',
  description: 'Draws the outputs of jxkernel.',
  autoStart: true,
  provides: IViews,
  requires: [IRenderMimeRegistry],
  activate: (_, rendermime: IRenderMimeRegistry) => new Views(rendermime)
};

const placesPlugin: JupyterFrontEndPlugin<IPlaces> = {
  id: 'jxkernel:places',
  description: 'Keeps the line of the user’s code that was chosen in a view.',
  autoStart: true,
  provides: IPlaces,
  activate: () => new Places()
};

const tablesPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jxkernel:tables',
  description: 'Draws tables.',
  autoStart: true,
  requires: [IViews],
  activate: (_, views: IViews) => {
    views.add('table', ({ data }) => ReactWidget.create(<TextTable table={data} />));
  }
};

export default [viewsPlugin, placesPlugin, tablesPlugin];
