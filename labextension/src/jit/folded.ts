/**
 * A part of a view that is drawn when it is first unfolded.
 */

import { Panel, Widget } from '@lumino/widgets';

let folded = 0;

/** A heading that is a button, and what it folds. */
export class Folded extends Panel {
  constructor(title: string, draw: () => Promise<Widget> | Widget, isOpen: boolean) {
    super();
    this.addClass('jp-jxk-Folded');
    this._draw = draw;
    const header = new Widget();
    this._button.type = 'button';
    this._button.className = 'jp-jxk-fold';
    this._button.append(title);
    this._body.id = `jp-jxk-folded-${++folded}`;
    this._body.addClass('jp-jxk-foldedBody');
    this._button.setAttribute('aria-controls', this._body.id);
    this._button.addEventListener('click', this);
    header.node.append(this._button);
    this.addWidget(header);
    this.addWidget(this._body);
    this.isOpen = isOpen;
  }

  /** Whether what it folds is shown. */
  get isOpen(): boolean {
    return !this._body.isHidden;
  }

  set isOpen(isOpen: boolean) {
    this._button.setAttribute('aria-expanded', String(isOpen));
    this._body.setHidden(!isOpen);
    if (isOpen && !this._isDrawn) {
      this._isDrawn = true;
      void this._fill();
    }
  }

  handleEvent(): void {
    this.isOpen = !this.isOpen;
  }

  override dispose(): void {
    this._button.removeEventListener('click', this);
    super.dispose();
  }

  private async _fill(): Promise<void> {
    const drawn = await this._draw();
    if (this.isDisposed) {
      drawn.dispose();
    } else {
      this._body.addWidget(drawn);
    }
  }

  private readonly _draw: () => Promise<Widget> | Widget;
  private readonly _button = document.createElement('button');
  private readonly _body = new Panel();
  private _isDrawn = false;
}

/** A text as it stands. */
export function plain(text: string): Widget {
  const widget = new Widget({ node: document.createElement('pre') });
  widget.addClass('jp-jxk-plain');
  widget.node.tabIndex = 0;
  widget.node.textContent = text;
  return widget;
}

/** A table of texts. */
export function tabled(head: readonly string[], rows: readonly (readonly string[])[]): Widget {
  const table = document.createElement('table');
  table.className = 'jp-jxk-table';
  const first = table.createTHead().insertRow();
  for (const name of head) {
    const cell = document.createElement('th');
    cell.scope = 'col';
    cell.textContent = name;
    first.append(cell);
  }
  const body = table.createTBody();
  for (const row of rows) {
    const line = body.insertRow();
    row.forEach(text => (line.insertCell().textContent = text));
  }
  const widget = new Widget();
  widget.node.append(table);
  return widget;
}
