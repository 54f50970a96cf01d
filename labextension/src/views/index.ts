/**
 * The plugin through which the others add how outputs are drawn.
 */

import type { JupyterFrontEndPlugin } from '@jupyterlab/application';
import { IRenderMimeRegistry } from '@jupyterlab/rendermime';
import type { IDisposable } from '@lumino/disposable';
import { DisposableDelegate } from '@lumino/disposable';
import type { Widget } from '@lumino/widgets';

import type { Payloads } from '../protocol';
import { mimeType } from '../protocol';
import { isPayload } from '../shared/shapes';
import type { IViewOptions, ViewFactory } from '../tokens';
import { IViews } from '../tokens';
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

export const viewsPlugin: JupyterFrontEndPlugin<IViews> = {
  id: 'jxkernel:views',
  description: 'Draws the outputs of jxkernel.',
  autoStart: true,
  provides: IViews,
  requires: [IRenderMimeRegistry],
  activate: (_, rendermime: IRenderMimeRegistry) => new Views(rendermime)
};
