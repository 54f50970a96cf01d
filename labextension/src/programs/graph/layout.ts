/**
 * Where the nodes of a section lie.
 */

import { graphlib, layout } from '@dagrejs/dagre';

import type { INode, ISection } from './nodes.ts';

const CHARACTER = 6.7;
const LINE = 14;

/** A node with its place, which is its middle. */
export interface IPlaced {
  readonly node: INode;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  /** The lines under its label. */
  readonly notes: readonly string[];
}

/** A section that was laid out. */
export interface ILayout {
  readonly nodes: readonly IPlaced[];
  readonly edges: readonly string[];
  readonly width: number;
  readonly height: number;
}

/** Lays a section out, top to bottom. */
export function layOut(section: ISection): ILayout {
  const graph = new graphlib.Graph();
  graph.setGraph({ rankdir: 'TB', nodesep: 14, ranksep: 26, ranker: 'tight-tree', marginx: 8, marginy: 8 });
  graph.setDefaultEdgeLabel(() => ({}));
  const notes = new Map<number, string[]>();
  for (const node of section.nodes) {
    const lines = notesOf(node);
    notes.set(node.id, lines);
    const longest = Math.max(node.label.length + 2, ...lines.map(one => one.length));
    const height = 12 + LINE * (1 + lines.length);
    graph.setNode(String(node.id), { width: 18 + CHARACTER * longest, height });
  }
  section.edges.forEach(one => graph.setEdge(String(one.from), String(one.to)));
  layout(graph);
  const size = graph.graph() as { width?: number; height?: number };
  return {
    nodes: section.nodes.map(node => {
      const { x = 0, y = 0, width = 0, height = 0 } = graph.node(String(node.id)) as Partial<IPlaced>;
      return { node, x, y, width, height, notes: notes.get(node.id) ?? [] };
    }),
    edges: graph.edges().map(one => pathOf((graph.edge(one) as { points: IPoint[] }).points)),
    width: size.width ?? 0,
    height: size.height ?? 0
  };
}

interface IPoint {
  readonly x: number;
  readonly y: number;
}

/** Smooths a line by curves between the middles of its pieces. */
function pathOf(points: readonly IPoint[]): string {
  const [first, ...rest] = points;
  if (!first) {
    return '';
  }
  let path = `M${round(first)}`;
  rest.forEach((point, index) => {
    const next = rest[index + 1];
    if (next) {
      const middle = { x: (point.x + next.x) / 2, y: (point.y + next.y) / 2 };
      path += `Q${round(point)} ${round(middle)}`;
    } else {
      path += `L${round(point)}`;
    }
  });
  return path;
}

function round(point: IPoint): string {
  return `${point.x.toFixed(1)},${point.y.toFixed(1)}`;
}

function notesOf(node: INode): string[] {
  const lines = node.type ? [cut(node.type)] : [];
  return node.far.length ? [...lines, cut(`from ${node.far.join(', ')}`)] : lines;
}

function cut(text: string): string {
  return text.length > 28 ? `${text.slice(0, 27)}…` : text;
}
