/**
 * The plugin that draws what `%%jit` shows: one line, and the details folded under it.
 */

import type { JupyterFrontEndPlugin } from '@jupyterlab/application';
import type { Widget } from '@lumino/widgets';
import { Panel, Widget as Plain } from '@lumino/widgets';

import type { JitPayload, SectionPayload, StagesPayload } from '../protocol';
import type { IViewOptions } from '../tokens';
import { IViews } from '../tokens';
import { Folded, plain, tabled } from './folded';
import { factsOf, inputsOf, timesOf, warningOf } from './rows';

const jitPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jxkernel:jit',
  description: 'Draws what cells under %%jit show.',
  autoStart: true,
  requires: [IViews],
  activate: (_, views: IViews) => {
    views.add('jit', options => new RunView(views, options));
  }
};

export default [jitPlugin];

/** A run of a cell. */
class RunView extends Panel {
  constructor(
    private readonly _views: IViews,
    private readonly _options: IViewOptions<'jit'>
  ) {
    super();
    const { data } = _options;
    this.addClass('jp-jxk-Run');
    if (data.defined.length) {
      this.addWidget(line(data.summary));
    } else {
      this.addWidget(new Folded(data.summary, () => this._details(), data.open.length > 0));
    }
    data.warnings.forEach(one => this.addWidget(warned(one)));
  }

  private _details(): Widget {
    const { data } = this._options;
    const details = new Panel();
    details.addWidget(tabled(['Stage', 'Time'], timesOf(data)));
    if (!data.hit) {
      details.addWidget(line(`traced because: ${data.why}`));
    }
    const inputs = inputsOf(data);
    if (inputs.length) {
      const title = `${inputs.length} input${inputs.length === 1 ? '' : 's'}`;
      this._add(details, title, 'inputs', () =>
        tabled(['Name', 'What it is', 'Type or value'], inputs)
      );
    }
    this._addProvenance(details, data);
    this._addJaxpr(details, data);
    data.sections.forEach(one =>
      this._add(details, one.title, one.name, () => this._section(one))
    );
    return details;
  }

  private _addProvenance(details: Panel, data: JitPayload): void {
    const { provenance } = data;
    if (provenance?.functions.length) {
      const text = provenance.functions.map(one => one.source.join('\n')).join('\n\n');
      const draw = (): Promise<Widget> | null =>
        this._views.draw('provenance', { ...this._options, data: provenance, text });
      const facts = (): Widget => tabled(['Name', 'What it is', 'In detail'], factsOf(provenance));
      this._add(details, 'Traced and static', 'source', () => draw() ?? facts());
    }
  }

  private _addJaxpr(details: Panel, data: JitPayload): void {
    const { jaxpr } = data;
    if (jaxpr) {
      const draw = (): Promise<Widget> | null =>
        this._views.draw('jaxpr', { ...this._options, data: jaxpr, text: '' });
      const text = (): string => jaxpr.equations.map(one => one.text).join('\n');
      this._add(details, 'jaxpr', 'jaxpr', () => draw() ?? plain(text()));
    }
  }

  private _section(section: SectionPayload): Promise<Widget> | Widget {
    const data = section as SectionPayload & Partial<StagesPayload>;
    const drawn =
      section.name === 'stages' && data.jaxpr
        ? this._views.draw('stages', {
            ...this._options,
            data: data as unknown as StagesPayload,
            text: section.text
          })
        : null;
    return drawn ?? plain(section.text);
  }

  private _add(
    details: Panel,
    title: string,
    name: string,
    draw: () => Promise<Widget> | Widget
  ): void {
    details.addWidget(new Folded(title, draw, this._options.data.open.includes(name)));
  }
}

function line(text: string): Widget {
  const widget = new Plain();
  widget.addClass('jp-jxk-line');
  widget.node.textContent = text;
  return widget;
}

function warned(warning: string): Widget {
  const { sentence, code } = warningOf(warning);
  const panel = new Panel();
  panel.addClass('jp-jxk-note');
  panel.addWidget(line(sentence));
  if (code) {
    panel.addWidget(plain(code));
  }
  return panel;
}
