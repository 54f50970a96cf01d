/**
 * Equations that came by columns.
 */

import type { EquationColumns, EquationPayload } from '../protocol';

/** Adds equations to those that are there. */
export function addColumns(equations: EquationPayload[], columns: EquationColumns): void {
  const names = (text: string | undefined): string[] => (text ? text.split(' ') : []);
  columns.text.forEach((text, index) => {
    equations.push({
      number: columns.first + index,
      depth: columns.depth[index] ?? 0,
      named: columns.named[index] ?? false,
      text,
      primitive: columns.primitive[index] ?? '',
      operands: names(columns.operands[index]),
      results: names(columns.results[index]),
      file: columns.files[columns.file[index] ?? -1] ?? '',
      line: columns.line[index] ?? 0,
      flops: columns.flops[index] ?? 0,
      bytes: columns.bytes[index] ?? 0
    });
  });
}
