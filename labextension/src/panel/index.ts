/**
 * The plugin of the right panel: features add their sections to it.
 */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ILayoutRestorer } from '@jupyterlab/application';
import { INotebookTracker } from '@jupyterlab/notebook';

import { jxIcon } from '../shared/icon';
import type { ISection, ISession, IWays } from '../tokens';
import { ICommands, IPanel, IPreferences, ISessions } from '../tokens';
import { Cells } from './cells';
import { load } from './load';
import { PanelModel } from './model';
import { JxPanel } from './widget';

class Panel implements IPanel {
  constructor(
    private readonly _app: JupyterFrontEnd,
    private readonly _model: PanelModel,
    private readonly _widget: JxPanel,
    readonly ways: IWays
  ) {}

  get session(): ISession | null {
    return this._model.session;
  }

  get filter(): string {
    return this._model.filter;
  }

  add(section: ISection): void {
    this._model.add(section);
  }

  show(id: string): void {
    this._widget.open(id);
    this._app.shell.activateById(this._widget.id);
  }

  isShown(section: ISection): boolean {
    return this._model.isVisible && this._model.section === section;
  }

  refresh(): void {
    this._model.refresh();
  }

  expire(): void {
    this._model.expire();
  }

  redraw(): void {
    this._model.redraw();
  }
}

/** The ways from the panel to the cells and files of the session worked in. */
function waysOf(model: PanelModel, commands: ICommands, cells: Cells): IWays {
  return {
    canGo: (text, identities) => cells.find(model.session, text, identities) >= 0,
    go: (text, identities) =>
      void commands.act(session => cells.reveal(session, text, identities)),
    open: (path, line) => void commands.act(session => cells.open(session, path, line))
  };
}

function addCommands(app: JupyterFrontEnd, commands: ICommands, widget: JxPanel): void {
  commands.add('jxkernel:show-panel', {
    label: 'Show jxkernel Panel',
    caption: 'What is traced and compiled, live arrays, and devices',
    icon: jxIcon,
    execute: ({ section }) => {
      const found = widget.model.sections.find(one => one.id === section);
      if (found) {
        widget.open(found.id);
      }
      app.shell.activateById(widget.id);
    }
  });
}

const panelPlugin: JupyterFrontEndPlugin<IPanel> = {
  id: 'jxkernel:panel',
  description: 'The panel, with a section for each feature that has one.',
  autoStart: true,
  provides: IPanel,
  requires: [ISessions, IPreferences, ICommands],
  optional: [INotebookTracker, ILayoutRestorer],
  activate: (
    app: JupyterFrontEnd,
    sessions: ISessions,
    preferences: IPreferences,
    commands: ICommands,
    notebooks: INotebookTracker | null,
    restorer: ILayoutRestorer | null
  ) => {
    const model = new PanelModel(sessions, preferences);
    const widget = new JxPanel(model, () => void commands.act(load));
    widget.id = 'jxkernel-panel';
    widget.title.icon = jxIcon;
    widget.title.caption = 'jxkernel';
    widget.title.label = '';
    app.shell.add(widget, 'right', { rank: 900 });
    restorer?.add(widget, widget.id);
    addCommands(app, commands, widget);
    commands.add('jxkernel:load', {
      label: 'Load jxkernel in This Kernel',
      caption: 'Run %load_ext jxkernel',
      isEnabled: () => !!sessions.current?.context.session?.kernel && !sessions.current.status,
      execute: () => commands.act(load)
    });
    return new Panel(app, model, widget, waysOf(model, commands, new Cells(app, notebooks)));
  }
};

export default [panelPlugin];
