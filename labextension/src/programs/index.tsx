/**
 * The plugins that light up lines, and draw programs: jaxprs, stages, comparisons.
 */

import type { JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ReactWidget } from '@jupyterlab/apputils';
import React from 'react';

import type { JaxprPayload } from '../protocol';
import { IPlaces, ISessions, IViews } from '../tokens';
import { Diff } from './diff.tsx';
import { Explorer } from './explorer.tsx';
import { ProgramModel } from './model.ts';
import { Places } from './places.ts';
import { Stages } from './stages.tsx';

export const placesPlugin: JupyterFrontEndPlugin<IPlaces> = {
  id: 'jxkernel:places',
  description: 'Keeps the line of the user’s code that was chosen in a view.',
  autoStart: true,
  provides: IPlaces,
  activate: () => new Places()
};

export const programsPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jxkernel:programs',
  description: 'Draws jaxprs, stages and comparisons.',
  autoStart: true,
  requires: [IViews, IPlaces],
  optional: [ISessions],
  activate: (_, views: IViews, places: IPlaces, sessions: ISessions | null) => {
    const model = (data: JaxprPayload, trusted: boolean): ProgramModel =>
      new ProgramModel(data, places, trusted ? sessions : null);
    views.add('jaxpr', ({ data, text, trusted }) => {
      const one = model(data, trusted);
      return new ModelWidget(one, <Explorer model={one} text={text} />);
    });
    views.add('stages', ({ data, text, trusted }) => {
      const one = model(data.jaxpr, trusted);
      return new ModelWidget(one, <Stages model={one} data={data} text={text} />);
    });
    views.add('diff', ({ data, text }) => ReactWidget.create(<Diff data={data} text={text} />));
  }
};

/** A drawn model, which is dropped with it. */
class ModelWidget extends ReactWidget {
  constructor(
    private readonly _model: ProgramModel,
    private readonly _drawn: React.JSX.Element
  ) {
    super();
  }

  override dispose(): void {
    this._model.dispose();
    super.dispose();
  }

  protected override render(): React.JSX.Element {
    return this._drawn;
  }
}
