/**
 * The plugin that draws live memory, and tables.
 */

import type { JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ReactWidget } from '@jupyterlab/apputils';
import { INotebookTracker } from '@jupyterlab/notebook';
import React, { useMemo } from 'react';

import type { TablePayload } from '../protocol';
import { Table } from '../shared/table.tsx';
import { ISessions, IViews } from '../tokens';
import { Shortage } from './shortage.tsx';
import { columnsOf, leftOut } from './tables.ts';

const BARS = ['Size', 'Their size', 'In use'];

export const memoryPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jxkernel:memory',
  description: 'Draws live arrays and tables, and frees memory where it ran out.',
  autoStart: true,
  requires: [IViews],
  optional: [ISessions, INotebookTracker],
  activate: (
    _,
    views: IViews,
    sessions: ISessions | null,
    notebooks: INotebookTracker | null
  ) => {
    views.add('memory', ({ data }) =>
      ReactWidget.create(
        <>
          <Texts table={data.arrays} />
          <Texts table={data.devices} />
        </>
      )
    );
    views.add('shortage', ({ data, trusted }) =>
      ReactWidget.create(
        <Shortage data={data} sessions={trusted ? sessions : null} notebooks={notebooks} />
      )
    );
    views.add('table', ({ data }) => ReactWidget.create(<Texts table={data} />));
  }
};

/** A table of texts. */
function Texts(props: { readonly table: TablePayload }): React.JSX.Element {
  const { table } = props;
  const columns = useMemo(() => columnsOf(table, BARS), [table]);
  const more = leftOut(table);
  return (
    <>
      <Table
        label={table.title}
        rows={table.rows}
        columns={columns}
        heading={<b>{table.title}</b>}
      />
      {more && <div className="jp-jxk-dim">{more}</div>}
    </>
  );
}
