/**
 * The renderer of one output: the drawn view, or what the output is without this extension.
 */

import type { IRenderMimeRegistry } from '@jupyterlab/rendermime';
import type { IRenderMime } from '@jupyterlab/rendermime-interfaces';
import { Panel, Widget } from '@lumino/widgets';

import type { Payloads } from '../protocol';
import { FORMAT, mimeType } from '../protocol';
import { isObject, isPayload } from '../shared/shapes';
import type { ViewFactory } from '../tokens';

/** Why data is not drawn; nothing where it can be. */
function hindrance(kind: keyof Payloads, data: unknown): string {
  if (isObject(data) && Number(data.format) > FORMAT) {
    return NEWER;
  }
  return isObject(data) && data.format === FORMAT && isPayload(kind, data) ? '' : UNREADABLE;
}

/** Draws a mime bundle by a view's factory; falls back to its HTML and its text. */
export class ViewRenderer<K extends keyof Payloads> extends Panel implements IRenderMime.IRenderer {
  constructor(
    private readonly _kind: K,
    private readonly _factory: ViewFactory<K>,
    private readonly _rendermime: IRenderMimeRegistry
  ) {
    super();
    this.addClass('jp-jxk-View');
  }

  async renderModel(model: IRenderMime.IMimeModel): Promise<void> {
    const turn = ++this._turn;
    const data = model.data[mimeType(this._kind)];
    const why = hindrance(this._kind, data);
    const drawn = why ? null : await this._drawn(data as unknown as Payloads[K], model);
    const shown = drawn ?? (await this._plain(model, why || UNREADABLE));
    if (this.isDisposed || turn !== this._turn) {
      shown.forEach(one => one.dispose());
      return;
    }
    while (this.widgets[0]) {
      this.widgets[0].dispose();
    }
    shown.forEach(one => this.addWidget(one));
  }

  private async _drawn(data: Payloads[K], model: IRenderMime.IMimeModel): Promise<Widget[] | null> {
    const text = String(model.data['text/plain'] ?? '');
    try {
      return [await this._factory({ data, text, model, trusted: model.trusted })];
    } catch (error) {
      console.error('jxkernel: a view could not be drawn', error);
      return null;
    }
  }

  /** The output as it is without this extension, under a note where one is due. */
  private async _plain(model: IRenderMime.IMimeModel, note: string): Promise<Widget[]> {
    const shown: Widget[] = [];
    if (note) {
      const line = new Widget();
      line.addClass('jp-jxk-note');
      line.node.textContent = note;
      shown.push(line);
    }
    for (const type of ['text/html', 'text/plain']) {
      if (typeof model.data[type] !== 'string' && !Array.isArray(model.data[type])) {
        continue;
      }
      const renderer = this._rendermime.createRenderer(type);
      await renderer.renderModel(model);
      shown.push(renderer);
      break;
    }
    return shown;
  }

  private _turn = 0;
}

const NEWER =
  'A newer jxkernel made this output. This lab extension shows it as it was saved.';
const UNREADABLE =
  'This lab extension cannot draw the data of this output. It is shown as it was saved.';
