/**
 * The plugins that draw programs, jaxprs and stages, and tell what lines cost.
 */

import type { JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ReactWidget } from '@jupyterlab/apputils';
import React from 'react';

import type { JaxprPayload } from '../protocol';
import { ICommands, IComparisons, ILineCosts, IPlaces, ISessions, IViews } from '../tokens';
import { LineCostsModel } from './costs';
import { Explorer } from './explorer.tsx';
import { ProgramModel } from './model.ts';
import { Stages } from './stages.tsx';

const programsPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jxkernel:programs',
  description: 'Draws jaxprs and stages.',
  autoStart: true,
  requires: [IViews, IPlaces],
  optional: [ISessions, IComparisons],
  activate: (
    _,
    views: IViews,
    places: IPlaces,
    sessions: ISessions | null,
    comparisons: IComparisons | null
  ) => {
    const model = (data: JaxprPayload, trusted: boolean): ProgramModel =>
      new ProgramModel(data, places, trusted ? sessions : null, comparisons);
    views.add('jaxpr', ({ data, text, trusted }) => {
      const one = model(data, trusted);
      return new ModelWidget(one, <Explorer model={one} text={text} />);
    });
    views.add('stages', ({ data, text, trusted }) => {
      const one = model(data.jaxpr, trusted);
      return new ModelWidget(one, <Stages model={one} data={data} text={text} />);
    });
  }
};

const costsPlugin: JupyterFrontEndPlugin<ILineCosts> = {
  id: 'jxkernel:costs',
  description: 'Tells what lines cost, while that is to be shown.',
  autoStart: true,
  provides: ILineCosts,
  requires: [ICommands],
  activate: (app, commands: ICommands) => {
    const costs = new LineCostsModel();
    const id = 'jxkernel:toggle-costs';
    commands.add(id, {
      label: 'Cost of Each Line in Editors',
      caption: 'Show operations, bytes and measured time beside the lines of jitted code',
      isToggleable: true,
      isToggled: () => costs.isOn,
      execute: () => {
        costs.isOn = !costs.isOn;
        app.commands.notifyCommandChanged(id);
      }
    });
    return costs;
  }
};

export default [programsPlugin, costsPlugin];

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
