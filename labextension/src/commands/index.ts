/**
 * The plugin through which the others add commands.
 */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import type { Cell } from '@jupyterlab/cells';
import { INotebookTracker } from '@jupyterlab/notebook';
import type { CommandRegistry } from '@lumino/commands';

import { telling } from '../shared/asking';
import type { ISession, SessionChange } from '../tokens';
import { ICommands, IPreferences, ISessions } from '../tokens';

const CATEGORY = 'jxkernel';

class Commands implements ICommands {
  constructor(
    private readonly _registry: CommandRegistry,
    private readonly _palette: ICommandPalette | null,
    private readonly _sessions: ISessions,
    private readonly _notebooks: INotebookTracker | null,
    preferences: IPreferences
  ) {
    _sessions.currentChanged.connect(this._follow, this);
    preferences.changed.connect(this._notify, this);
    this._follow();
  }

  get session(): ISession | null {
    const session = this._sessions.current;
    return session?.status && !session.isNewer ? session : null;
  }

  get codeCell(): Cell | null {
    const { currentWidget, activeCell = null } = this._notebooks ?? {};
    const isCurrent = currentWidget?.sessionContext === this._sessions.current?.context;
    return isCurrent && activeCell?.model.type === 'code' ? activeCell : null;
  }

  add(id: string, command: CommandRegistry.ICommandOptions): void {
    const isEnabled = (): boolean => this.session !== null;
    this._registry.addCommand(id, { isEnabled, ...command });
    this._palette?.addItem({ command: id, category: CATEGORY });
    this._added.push(id);
  }

  async act(does: (session: ISession) => Promise<unknown>): Promise<void> {
    const session = this._sessions.current;
    if (session) {
      await telling(async () => void (await does(session)));
    }
  }

  private _follow(): void {
    this._followed?.changed.disconnect(this._onChanged, this);
    this._followed = this._sessions.current;
    this._followed?.changed.connect(this._onChanged, this);
    this._notify();
  }

  private _onChanged(_: ISession, change: SessionChange): void {
    if (change === 'status') {
      this._notify();
    }
  }

  private _notify(): void {
    this._added.forEach(id => this._registry.notifyCommandChanged(id));
  }

  private readonly _added: string[] = [];
  private _followed: ISession | null = null;
}

const commandsPlugin: JupyterFrontEndPlugin<ICommands> = {
  id: 'jxkernel:commands',
  description: 'The commands, each there with a session of jxkernel only.',
  autoStart: true,
  provides: ICommands,
  requires: [ISessions, IPreferences],
  optional: [INotebookTracker, ICommandPalette],
  activate: (
    app: JupyterFrontEnd,
    sessions: ISessions,
    preferences: IPreferences,
    notebooks: INotebookTracker | null,
    palette: ICommandPalette | null
  ) => new Commands(app.commands, palette, sessions, notebooks, preferences)
};

export default [commandsPlugin];
