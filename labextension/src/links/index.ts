/**
 * The plugin that makes links within an output of jxkernel's HTML work.
 *
 * JupyterLab takes a link to a place in the page for one to a document, and in notebooks that are
 * not trusted it renames all ids: the place is looked for within the output itself.
 */

import type { JupyterFrontEndPlugin } from '@jupyterlab/application';

const SHOWN_MS = 2_000;

const linksPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jxkernel:links',
  description: 'Follows links within the outputs of jxkernel.',
  autoStart: true,
  activate: () => {
    document.addEventListener('click', follow, { capture: true });
  }
};

export default [linksPlugin];

function follow(event: MouseEvent): void {
  const link = (event.target as Element | null)?.closest?.('.jxk a[href]');
  const name = link?.getAttribute('href') ?? '';
  const output = link?.closest('.jxk');
  if (!output || !name.startsWith('#') || event.button !== 0) {
    return;
  }
  event.preventDefault();
  event.stopPropagation();
  const id = CSS.escape(name.slice(1));
  const place = output.querySelector<HTMLElement>(`[id="${id}"], [data-jupyter-id="${id}"]`);
  if (place) {
    reveal(place);
  }
}

/** Opens what folds a place, scrolls to it, and lights it up for a while. */
function reveal(place: HTMLElement): void {
  for (let one = place.parentElement?.closest('details'); one; ) {
    one.open = true;
    one = one.parentElement?.closest('details');
  }
  place.scrollIntoView({ block: 'nearest' });
  place.tabIndex = -1;
  place.focus({ preventScroll: true });
  place.classList.add('hot');
  window.setTimeout(() => place.classList.remove('hot'), SHOWN_MS);
}
