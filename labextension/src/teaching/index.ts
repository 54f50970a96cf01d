/**
 * The plugins of teaching: the command that tells silent mistakes as lessons, and the guesses of
 * quizzes. The list of the exercises marks what was answered: the kernel is told what was clicked on.
 */

import type { JupyterFrontEndPlugin } from '@jupyterlab/application';

import { ask } from '../shared/asking';
import { ICommands, ISessions } from '../tokens';

const lessonsPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jxkernel:lessons',
  description: 'Turns the teaching mode on and off.',
  autoStart: true,
  requires: [ICommands],
  activate: (_, commands: ICommands) => {
    commands.add('jxkernel:toggle-teaching', {
      label: 'Teaching Mode',
      caption: 'Tell silent mistakes as lessons; calls are slower while it is on',
      isToggleable: true,
      isToggled: () => commands.session?.status?.teaching === true,
      execute: () =>
        commands.act(session => ask(session, 'teach', { on: !session.status?.teaching }))
    });
  }
};

const guessesPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jxkernel:teaching',
  description: 'Notes the guesses of quizzes.',
  autoStart: true,
  requires: [ISessions],
  activate: (_, sessions: ISessions) => {
    const note = (event: Event): void => {
      const guess = guessOf(event);
      const session = sessions.current;
      if (guess && session?.status) {
        // The verdict is shown already: a kernel that goes away now loses a mark in a list.
        ask(session, 'guess', guess).catch(() => undefined);
      }
    };
    document.addEventListener('click', note, { capture: true });
  }
};

export default [lessonsPlugin, guessesPlugin];

/** The guess that a click unfolds; JupyterLab takes its name off where a notebook is not trusted. */
function guessOf(event: Event): { exercise: string; correct: boolean } | null {
  const summary = (event.target as Element | null)?.closest?.('.jxk summary');
  const details = summary?.parentElement;
  const { quiz, right } = (details as HTMLDetailsElement | null)?.dataset ?? {};
  const isOpen = (details as HTMLDetailsElement | null)?.open;
  return quiz && right && !isOpen ? { exercise: quiz, correct: right === 'yes' } : null;
}
