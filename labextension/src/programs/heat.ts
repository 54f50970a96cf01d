/**
 * What lines cost in words, and how hot that makes them.
 */

import type { LineCostPayload } from '../protocol.ts';
import { bytes, duration, flops } from '../shared/texts.ts';
import type { LineCosts } from '../tokens';

/** Says what lines cost: a line is hot by its time where that was measured, or by its operations. */
export function lineCosts(lines: readonly LineCostPayload[]): LineCosts {
  const most = (of: 'device_ns' | 'flops'): number =>
    lines.reduce((found, line) => Math.max(found, line[of]), 1);
  const [longest, largest] = [most('device_ns'), most('flops')];
  return new Map(
    lines.map(line => {
      const parts = [
        line.device_ns > 0 && duration(line.device_ns),
        line.flops > 0 && flops(line.flops),
        line.bytes > 0 && bytes(line.bytes)
      ];
      const heat = line.device_ns > 0 ? line.device_ns / longest : line.flops / largest;
      return [`${line.file}:${line.line}`, { text: parts.filter(Boolean).join(' · '), heat }];
    })
  );
}
