/**
 * The plugin of the panel's section of devices, and of the command that shows it.
 */

import type { JupyterFrontEndPlugin } from '@jupyterlab/application';
import React from 'react';

import type { BackendAnswer } from '../protocol';
import { ask } from '../shared/asking';
import type { Feed } from '../shared/feed.ts';
import type { ISection } from '../tokens';
import { ICommands, IPanel, SELECT_BACKEND } from '../tokens';
import { BackendModel } from './backend';
import { DevicesSection } from './section';

class Section implements ISection {
  constructor(panel: IPanel) {
    this._model = new BackendModel(
      (name, arguments_) => ask(panel.session, name, arguments_),
      () => panel.redraw()
    );
  }

  readonly id = 'backend';
  readonly name = 'Devices';
  readonly rank = 3;
  readonly filtered = null;
  readonly hasFirst = true;

  get feed(): Feed<BackendAnswer> {
    return this._model.state;
  }

  draw(): React.JSX.Element | null {
    const { answer } = this.feed;
    return answer && <DevicesSection answer={answer} model={this._model} />;
  }

  /** Code may have changed the backend. */
  onStatus(): void {
    this.feed.expire();
  }

  clear(): void {
    this._model.clear();
  }

  dispose(): void {
    this._model.dispose();
  }

  private readonly _model: BackendModel;
}

const devicesPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jxkernel:devices',
  description: 'Shows the devices in the panel, and changes what computes.',
  autoStart: true,
  requires: [IPanel, ICommands],
  activate: (_, panel: IPanel, commands: ICommands) => {
    panel.add(new Section(panel));
    commands.add(SELECT_BACKEND, {
      label: 'Select Backend…',
      caption: 'Choose the default device, CPU devices, 64-bit dtypes and precision',
      execute: () => panel.show('backend')
    });
  }
};

export default [devicesPlugin];
