/**
 * A table of texts as it comes from the kernel.
 */

import React, { useMemo } from 'react';

import type { TablePayload } from '../protocol';
import { Table } from './table.tsx';
import { columnsOf, leftOut } from './tables.ts';

const BARS = ['Size', 'Their size', 'In use'];

/** Draws a table of texts. */
export function TextTable(props: { readonly table: TablePayload }): React.JSX.Element {
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
