/** Programs for the tests, as the kernel sends them. */

import type { EquationPayload, JaxprPayload, ProgramPayload } from '../src/protocol.ts';

export function equation(number: number, depth: number, more: Partial<EquationPayload> = {}): EquationPayload {
  return {
    number,
    depth,
    named: false,
    text: `v${number}:f32[] = sin v${number - 1}`,
    primitive: 'sin',
    operands: [`v${number - 1}`],
    results: [`v${number}`],
    file: 'cell',
    line: number,
    flops: 1,
    bytes: 8,
    ...more
  };
}

export function program(first: number, end: number, more: Partial<ProgramPayload> = {}): ProgramPayload {
  return {
    label: '',
    head: '; v0:f32[]',
    tail: `(v${end - 1},)`,
    inputs: ['v0'],
    results: [`v${end - 1}`],
    equation: 0,
    depth: 0,
    first,
    end,
    left_out: 0,
    ...more
  };
}

export function jaxpr(equations: EquationPayload[], programs: ProgramPayload[]): JaxprPayload {
  return {
    title: 'f',
    token: '',
    stack: ['f'],
    count: equations.length,
    flops: 1,
    bytes: 8,
    inputs: '',
    equations,
    programs,
    results: '',
    source: []
  };
}

/** A chain of sines. */
export function chain(length: number): JaxprPayload {
  const equations = Array.from({ length }, (_, index) => equation(index + 1, 0));
  return jaxpr(equations, [program(1, length + 1)]);
}

/** Equation 2 holds two programs, of 3 and of 4 and 5; 5 holds one of 6; then comes 7. */
export function nested(): JaxprPayload {
  return jaxpr(
    [
      equation(1, 0),
      equation(2, 0, { text: 'c:f32[8] = cond p c', primitive: 'cond', named: true, results: ['c'] }),
      equation(3, 1),
      equation(4, 1, { line: 0 }),
      equation(5, 1, { primitive: 'scan', text: 'v5:f32[] = scan v4' }),
      equation(6, 2, { line: 1 }),
      equation(7, 0, { operands: ['c'] })
    ],
    [
      program(1, 8),
      program(3, 4, { label: 'branches[0]', equation: 2, depth: 1 }),
      program(4, 7, { label: 'branches[1]', equation: 2, depth: 1, left_out: 12 }),
      program(6, 7, { label: 'jaxpr', equation: 5, depth: 2 })
    ]
  );
}
