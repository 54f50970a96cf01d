/**
 * What a mark says when it is asked.
 */

import type { Link, NameFact } from '../protocol.ts';
import type { IPlacedMark, ISourceMark, MarkKind } from './marks.ts';
import { LETTERS } from './marks.ts';
import { bytes } from '../shared/texts.ts';

const NAMES: Record<MarkKind, string> = {
  traced: 'traced',
  static: 'static: a plain Python value, written into the program',
  constant: 'constant: baked in while tracing; a later change of it is not seen',
  effect: 'side effect: happens while tracing, not when the compiled program runs',
  loop: 'unrolled loop'
};

/** An explanation: what is marked, what it is, and lines of more. */
export interface IExplanation {
  readonly letter: string;
  readonly kind: MarkKind;
  readonly code: string;
  readonly what: string;
  readonly lines: readonly string[];
}

/** Explains a mark: its value, and the chain back to an argument. */
export function explained(placed: IPlacedMark): IExplanation {
  const { mark } = placed;
  const lines = [...detailLines(mark), ...(mark.fact ? factLines(mark, mark.fact) : [])];
  if (placed.isStale) {
    lines.push('The line was edited since it ran. This is about the line as it was.');
  }
  const code = mark.code.length > 80 ? `${mark.code.slice(0, 79)}…` : mark.code;
  return { letter: LETTERS[mark.kind], kind: mark.kind, code, what: headline(mark), lines };
}

/** An explanation in one text, as it is read out or copied. */
export function spoken(explanation: IExplanation): string {
  const { letter, code, what, lines } = explanation;
  return [`${letter} ${code}: ${what}`, ...lines].join('\n');
}

function headline(mark: ISourceMark): string {
  if (mark.kind === 'traced') {
    const argument = mark.fact?.is_argument ? ', an argument' : '';
    return `traced, ${mark.detail}${argument}`;
  }
  return NAMES[mark.kind];
}

function detailLines(mark: ISourceMark): string[] {
  if (mark.kind === 'traced') {
    return [];
  }
  const size = mark.bytes ? `, ${bytes(mark.bytes)}` : '';
  return mark.detail ? [...`${mark.detail}${size}`.split('\n')] : [];
}

function factLines(mark: ISourceMark, fact: NameFact): string[] {
  const lines = fact.code && fact.line !== mark.number ? [boundAt(fact)] : [];
  if (fact.kind !== 'traced' || mark.kind !== 'traced') {
    return lines;
  }
  if (!fact.depends_on.length) {
    lines.push('depends on no argument: made from constants while tracing');
  }
  for (const link of fact.chain) {
    if (link.line || !(fact.is_argument && link.name === fact.name)) {
      lines.push(chainLine(link));
    }
  }
  if (fact.depends_on.length > 1) {
    lines.push(`depends on the arguments ${fact.depends_on.join(', ')}`);
  }
  return lines;
}

/** Where a name was bound last: what is known of it is of that line. */
function boundAt(fact: NameFact): string {
  return `last bound: ${fact.code.trim()}    (line ${fact.line})`;
}

function chainLine(link: Link): string {
  return link.line
    ? `← ${link.name}: ${link.detail}    ${link.code.trim()}    (line ${link.line})`
    : `← ${link.name}: ${link.detail}, argument`;
}
