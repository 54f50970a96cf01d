/**
 * The commands: each is there with a session of jxkernel only.
 */

import type { JupyterFrontEnd } from '@jupyterlab/application';
import type { ICommandPalette } from '@jupyterlab/apputils';
import { Notification } from '@jupyterlab/apputils';
import type { INotebookTracker } from '@jupyterlab/notebook';
import type { CommandRegistry } from '@lumino/commands';

import type { IMarks, IPreferences, ISession, ISessions } from '../tokens';
import { CommandIDs } from '../tokens';
import { clearCaches, explainCell, load, telling } from './actions';
import { jxIcon } from './icon';
import type { Section } from './model';
import { ask, SECTIONS } from './model';
import type { JxPanel } from './widget';

const CATEGORY = 'jxkernel';

/** What the commands act on. */
export interface ICommandOptions {
  readonly app: JupyterFrontEnd;
  readonly sessions: ISessions;
  readonly preferences: IPreferences;
  readonly notebooks: INotebookTracker | null;
  readonly palette: ICommandPalette | null;
  readonly marks: IMarks | null;
  readonly panel: JxPanel;
}

/** Adds the commands, and says when they can be used. */
export function addCommands(options: ICommandOptions): void {
  const { app, sessions, preferences, palette } = options;
  const all = { ...panelCommands(options), ...sessionCommands(options) };
  for (const [id, command] of Object.entries(all)) {
    app.commands.addCommand(id, command);
    palette?.addItem({ command: id, category: CATEGORY });
  }
  const notify = (): void => {
    for (const id of Object.keys(all)) {
      app.commands.notifyCommandChanged(id);
    }
  };
  let followed: ISession | null = null;
  const follow = (): void => {
    followed?.changed.disconnect(onChanged);
    followed = sessions.current;
    followed?.changed.connect(onChanged);
    notify();
  };
  const onChanged = (_: ISession, change: string): void => {
    if (change === 'status') {
      notify();
    }
  };
  sessions.currentChanged.connect(follow);
  preferences.changed.connect(notify);
  follow();
}

type Commands = Record<string, CommandRegistry.ICommandOptions>;

/** The session worked in, where its jxkernel is loaded and understood. */
function ready(sessions: ISessions): ISession | null {
  const session = sessions.current;
  return session?.status && !session.isNewer ? session : null;
}

function panelCommands({ app, sessions, panel }: ICommandOptions): Commands {
  const show = (section?: Section): void => {
    if (section) {
      panel.open(section);
    }
    app.shell.activateById(panel.id);
  };
  const isEnabled = (): boolean => ready(sessions) !== null;
  return {
    [CommandIDs.showPanel]: {
      label: 'Show jxkernel Panel',
      caption: 'What is traced and compiled, live arrays, and devices',
      icon: jxIcon,
      isEnabled,
      execute: arguments_ =>
        show(SECTIONS.map(([id]) => id).find(id => id === arguments_['section']))
    },
    [CommandIDs.showLedger]: {
      label: 'Show Recompilation Ledger',
      caption: 'Why functions were traced and compiled, and what it cost',
      isEnabled,
      execute: () => show('ledger')
    },
    [CommandIDs.selectBackend]: {
      label: 'Select Backend…',
      caption: 'Choose the default device, CPU devices, 64-bit dtypes and precision',
      isEnabled,
      execute: () => show('backend')
    }
  };
}

function sessionCommands({
  app,
  sessions,
  preferences,
  notebooks,
  marks,
  panel
}: ICommandOptions): Commands {
  const isEnabled = (): boolean => ready(sessions) !== null;
  const act = async (does: (session: ISession) => Promise<unknown>): Promise<void> => {
    const session = sessions.current;
    if (session) {
      await telling(async () => void (await does(session)));
    }
  };
  const activeCell = () =>
    notebooks?.currentWidget?.sessionContext === sessions.current?.context
      ? notebooks?.activeCell
      : null;
  return {
    [CommandIDs.explainCell]: {
      label: 'Explain Active Cell',
      caption: 'What was traced and compiled in the active cell, and why',
      isEnabled: () => isEnabled() && activeCell()?.model.type === 'code',
      execute: () =>
        act(async session => {
          const model = activeCell()?.model as
            | { readonly id: string; readonly executionCount?: number | null }
            | undefined;
          if (model) {
            await explainCell(session, model.id, model.executionCount ?? null);
          }
        })
    },
    [CommandIDs.explainName]: {
      label: 'Explain Name at Cursor',
      caption: 'How tracing treats the marked name or expression at the cursor',
      isEnabled: () => isEnabled() && !!marks?.isOn && activeCell()?.model.type === 'code',
      execute: () => {
        if (!marks?.explain(activeCell()?.editor ?? null)) {
          Notification.info('Nothing is marked at the cursor', { autoClose: 3000 });
        }
      }
    },
    [CommandIDs.toggleTeaching]: {
      label: 'Teaching Mode',
      caption: 'Tell silent mistakes as lessons; calls are slower while it is on',
      isEnabled,
      isToggleable: true,
      isToggled: () => ready(sessions)?.status?.teaching === true,
      execute: () => act(session => ask(session, 'teach', { on: !session.status?.teaching }))
    },
    [CommandIDs.toggleMarks]: {
      label: 'Marks of Traced and Static in Editors',
      caption: 'Mark in cells what is traced, static, constant, or happens while tracing',
      isEnabled,
      isToggleable: true,
      isToggled: () => preferences.values.marks,
      execute: () => preferences.set('marks', !preferences.values.marks)
    },
    [CommandIDs.toggleCosts]: {
      label: 'Cost of Each Line in Editors',
      caption: 'Show operations, bytes and measured time beside the lines of jitted code',
      isEnabled: () => isEnabled() && marks !== null,
      isToggleable: true,
      isToggled: () => marks?.showsCosts ?? false,
      execute: () => {
        if (marks) {
          marks.showsCosts = !marks.showsCosts;
          app.commands.notifyCommandChanged(CommandIDs.toggleCosts);
        }
      }
    },
    [CommandIDs.clearCaches]: {
      label: 'Clear Caches…',
      caption: 'Forget every trace and compiled call',
      isEnabled,
      execute: () =>
        act(async session => {
          await clearCaches(session);
          panel.model.expire();
        })
    },
    [CommandIDs.load]: {
      label: 'Load jxkernel in This Kernel',
      caption: 'Run %load_ext jxkernel',
      isEnabled: () => !!sessions.current?.context.session?.kernel && !sessions.current.status,
      execute: () => act(load)
    }
  };
}
