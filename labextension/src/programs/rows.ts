/**
 * A program as rows: each equation, and for each program inside one its head and its tail.
 */

import type { EquationPayload, JaxprPayload, ProgramPayload } from '../protocol';

/** A row of the listing; `parent` and `end` are indexes of rows. */
export interface IRow {
  readonly kind: 'equation' | 'head' | 'tail' | 'more';
  /** The equation's number, or that of the equation that the program lies in. */
  readonly number: number;
  readonly depth: number;
  readonly text: string;
  /** The equation around it; -1 at the top. */
  readonly parent: number;
  /** The row after it and all that lies in it. */
  end: number;
  readonly equation: EquationPayload | null;
}

/** The rows of a program, in order. */
export function rowsOf(data: JaxprPayload): IRow[] {
  return new Builder(data).rows;
}

class Builder {
  constructor(data: JaxprPayload) {
    this._equations = data.equations;
    for (const one of data.programs) {
      const known = this._inside.get(one.equation);
      if (known) {
        known.push(one);
      } else {
        this._inside.set(one.equation, [one]);
      }
    }
    this._inside.get(0)?.forEach(one => this._program(one, -1));
  }

  readonly rows: IRow[] = [];

  private _program(program: ProgramPayload, parent: number): void {
    const { equation, depth } = program;
    const label = program.label ? `${program.label}: ` : '';
    this._add('head', equation, depth, `${label}λ ${program.head}`, parent);
    let number = program.first;
    while (number < program.end) {
      number = this._equation(number, parent);
    }
    if (program.left_out) {
      const more = `… ${program.left_out.toLocaleString('en')} more equations`;
      this._add('more', equation, depth, more, parent);
    }
    // The results of a program that is still under way are not known.
    if (program.tail) {
      this._add('tail', equation, depth, `in ${program.tail}`, parent);
    }
  }

  /** Adds an equation with what lies in it, and returns the number of the next one. */
  private _equation(number: number, parent: number): number {
    const equation = this._equations[number - 1];
    if (!equation) {
      return Number.POSITIVE_INFINITY;
    }
    const index = this.rows.length;
    this._add('equation', number, equation.depth, equation.text, parent, equation);
    let next = number + 1;
    for (const inner of this._inside.get(number) ?? []) {
      this._program(inner, index);
      next = Math.max(next, inner.end);
    }
    (this.rows[index] as IRow).end = this.rows.length;
    return next;
  }

  private _add(
    kind: IRow['kind'],
    number: number,
    depth: number,
    text: string,
    parent: number,
    equation: EquationPayload | null = null
  ): void {
    const end = this.rows.length + 1;
    this.rows.push({ kind, number, depth, text, parent, end, equation });
  }

  private readonly _equations: readonly EquationPayload[];
  private readonly _inside = new Map<number, ProgramPayload[]>();
}
