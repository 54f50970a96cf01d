/**
 * What a click frees where memory ran out, and runs the cell again.
 */

import type { Cell } from '@jupyterlab/cells';
import type { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import { NotebookActions } from '@jupyterlab/notebook';
import React, { useRef, useState } from 'react';

import type { ShortagePayload } from '../protocol';
import { ask } from '../shared/asking';
import { Button } from '../shared/controls.tsx';
import { bytes } from '../shared/texts.ts';
import type { ISessions } from '../tokens';

/** Draws a button for each thing that may be freed, and one for all. */
export function Shortage(props: {
  readonly data: ShortagePayload;
  readonly sessions: ISessions | null;
  readonly notebooks: INotebookTracker | null;
}): React.JSX.Element {
  const { data, sessions, notebooks } = props;
  const { offered } = data;
  const box = useRef<HTMLDivElement>(null);
  const [notice, setNotice] = useState('');
  const free = async (names: readonly string[]): Promise<void> => {
    setNotice('asking the kernel …');
    const home = box.current && homeOf(box.current, notebooks);
    try {
      if (!home || !sessions) {
        throw new Error('Trust this notebook to free memory by a click.');
      }
      const { panel, cell } = home;
      const session = sessions.of(panel.sessionContext);
      await ask(session, 'make_room', { token: data.token, names });
      await NotebookActions.runCells(panel.content, [cell], panel.sessionContext);
    } catch (reason) {
      setNotice(reason instanceof Error ? reason.message : String(reason));
    }
  };
  const choices = offered.map(one => ({ what: one.name, names: [one.name], bytes: one.bytes }));
  if (offered.length > 1) {
    const total = offered.reduce((sum, one) => sum + one.bytes, 0);
    choices.push({ what: 'all of them', names: offered.map(one => one.name), bytes: total });
  }
  return (
    <div className="jp-jxk-Shortage" ref={box}>
      <div>Free what the cell does not read, and run it again:</div>
      <div className="jp-jxk-bar" role="group" aria-label="free memory">
        {choices.map(one => (
          <Button
            key={one.what}
            text={`Free ${one.what} (${bytes(one.bytes)})`}
            title={`Free ${one.what} (${bytes(one.bytes)}) and run the cell again`}
            onClick={() => void free(one.names)}
          />
        ))}
      </div>
      <div className="jp-jxk-dim" role="status">
        {notice}
      </div>
    </div>
  );
}

/** The notebook and the cell that an element stands in. */
function homeOf(
  node: Element,
  notebooks: INotebookTracker | null
): { readonly panel: NotebookPanel; readonly cell: Cell } | null {
  const panel = notebooks?.find(one => one.node.contains(node));
  const cell = panel?.content.widgets.find(one => one.node.contains(node));
  return panel && cell ? { panel, cell } : null;
}
