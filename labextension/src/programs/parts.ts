/**
 * The parts of an equation's text, for their colours.
 */

/** A stretch of text and what it is. */
export interface IPart {
  readonly kind: 'name' | 'type' | 'primitive' | 'text';
  readonly text: string;
}

const RESULT = /^([^\s:]+):(\S+)$/;

/** Splits `h:f32[8] = tanh a` into what it is made of. */
export function partsOf(equation: string): IPart[] {
  const equals = equation.indexOf(' = ');
  if (equals < 0) {
    return [{ kind: 'text', text: equation }];
  }
  const parts: IPart[] = [];
  for (const word of equation.slice(0, equals).split(' ')) {
    const found = RESULT.exec(word);
    parts.push({ kind: 'name', text: found?.[1] ?? word });
    parts.push({ kind: 'type', text: found ? `:${found[2]} ` : ' ' });
  }
  const right = equation.slice(equals + 3);
  const name = /^[\w.-]+/.exec(right)?.[0] ?? '';
  parts.push({ kind: 'text', text: '= ' });
  parts.push({ kind: 'primitive', text: name });
  parts.push({ kind: 'text', text: right.slice(name.length) });
  return parts;
}
