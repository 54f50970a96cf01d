/**
 * A program's own equations as nodes, in sections that are laid out one by one.
 *
 * A layout takes time that grows faster than the graph, and long edges make most of it; they also
 * make a large drawing unreadable. So a section holds a hundred equations, and what an equation
 * reads from far away is named in its node instead of drawn.
 */

import type { JaxprPayload, ProgramPayload } from '../../protocol';

/** How many equations a section has at most. */
export const SECTION = 100;

/** Over how many ranks an edge is drawn. */
const REACH = 3;

/** A node: an argument, an equation, or a result. */
export interface INode {
  readonly id: number;
  readonly kind: 'input' | 'operation' | 'program' | 'result';
  readonly label: string;
  readonly type: string;
  /** The equation's number; 0 for arguments and results. */
  readonly number: number;
  readonly rank: number;
  /** What it reads from far away, by name. */
  readonly far: string[];
}

/** An edge, by the ids of its nodes. */
export interface IEdge {
  readonly from: number;
  readonly to: number;
}

/** Nodes that are laid out together. */
export interface ISection {
  readonly nodes: INode[];
  readonly edges: IEdge[];
}

/** The sections of a program. */
export function sectionsOf(data: JaxprPayload, program: ProgramPayload): ISection[] {
  return new Sections(data, program).sections;
}

/** The programs inside an equation. */
export function programsIn(data: JaxprPayload, number: number): ProgramPayload[] {
  return data.programs.filter(one => one.equation === number);
}

class Sections {
  constructor(data: JaxprPayload, program: ProgramPayload) {
    const holders = new Set(data.programs.map(one => one.equation));
    const own: JaxprPayload['equations'] = [];
    for (let number = program.first; number < program.end; number++) {
      const one = data.equations[number - 1];
      if (one?.depth === program.depth) {
        own.push(one);
      }
    }
    const used = new Set(own.flatMap(one => one.operands).concat(program.results));
    for (const name of program.inputs) {
      if (used.has(name)) {
        this._add('input', name, '', 0, [], [name]);
      }
    }
    own.forEach((one, index) => {
      if (index && index % SECTION === 0) {
        this._begin();
      }
      const kind = holders.has(one.number) ? 'program' : 'operation';
      const [name] = one.results;
      const label = one.named && name ? `${name} = ${one.primitive}` : one.primitive;
      this._add(kind, label, typesOf(one.text), one.number, one.operands, one.results);
    });
    for (const name of new Set(program.results)) {
      if (this._madeBy.has(name)) {
        this._add('result', name, 'result', 0, [name], []);
      }
    }
  }

  readonly sections: ISection[] = [{ nodes: [], edges: [] }];

  private _begin(): void {
    this.sections.push({ nodes: [], edges: [] });
  }

  private _add(
    kind: INode['kind'],
    label: string,
    type: string,
    number: number,
    operands: readonly string[],
    results: readonly string[]
  ): void {
    const section = this.sections.at(-1) as ISection;
    const sources = new Map<string, INode>();
    for (const name of operands) {
      const source = this._madeBy.get(name);
      if (source) {
        sources.set(name, source);
      }
    }
    const isHere = (one: INode): boolean => this._sectionOf.get(one.id) === this.sections.length;
    const here = [...sources.values()].filter(isHere);
    const rank = 1 + Math.max(-1, ...here.map(one => one.rank));
    const far: string[] = [];
    const near = new Set<number>();
    for (const [name, source] of sources) {
      if (isHere(source) && rank - source.rank <= REACH) {
        near.add(source.id);
      } else {
        far.push(name);
      }
    }
    const node: INode = { id: this._next++, kind, label, type, number, rank, far };
    section.nodes.push(node);
    section.edges.push(...[...near].map(from => ({ from, to: node.id })));
    this._sectionOf.set(node.id, this.sections.length);
    results.forEach(name => this._madeBy.set(name, node));
  }

  private readonly _madeBy = new Map<string, INode>();
  private readonly _sectionOf = new Map<number, number>();
  private _next = 0;
}

/** The types of an equation's results, as they stand in its text. */
function typesOf(text: string): string {
  const left = text.slice(0, Math.max(text.indexOf(' = '), 0));
  return left
    .split(' ')
    .map(one => one.slice(one.indexOf(':') + 1))
    .join(' ');
}
