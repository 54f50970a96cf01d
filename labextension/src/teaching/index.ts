/**
 * The plugin that tells the kernel which guess of a quiz was clicked on: the list of the exercises
 * marks what was answered.
 */

import type { JupyterFrontEndPlugin } from '@jupyterlab/application';

import { ISessions } from '../tokens';

export const teachingPlugin: JupyterFrontEndPlugin<void> = {
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
        session.request('guess', guess).catch(() => undefined);
      }
    };
    document.addEventListener('click', note, { capture: true });
  }
};

/** The guess that a click unfolds; JupyterLab takes its name off where a notebook is not trusted. */
function guessOf(event: Event): { exercise: string; correct: boolean } | null {
  const summary = (event.target as Element | null)?.closest?.('.jxk summary');
  const details = summary?.parentElement;
  const { quiz, right } = (details as HTMLDetailsElement | null)?.dataset ?? {};
  const isOpen = (details as HTMLDetailsElement | null)?.open;
  return quiz && right && !isOpen ? { exercise: quiz, correct: right === 'yes' } : null;
}
