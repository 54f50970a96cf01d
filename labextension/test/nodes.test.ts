import assert from 'node:assert/strict';
import { test } from 'node:test';

import { SECTION, programsIn, sectionsOf } from '../src/programs/graph/nodes.ts';
import { chain, equation, jaxpr, nested, program } from './programs.ts';

test('a program has its own equations alone as nodes, and says which hold others', () => {
  const data = nested();
  const [section, ...more] = sectionsOf(data, data.programs[0]!);
  assert.equal(more.length, 0);
  const kinds = section!.nodes.map(one => `${one.kind}:${one.label}`);
  assert.deepEqual(kinds, ['input:v0', 'operation:sin', 'program:c = cond', 'operation:sin', 'result:v7']);
  assert.deepEqual(section!.edges, [
    { from: 0, to: 1 },
    { from: 1, to: 2 },
    { from: 2, to: 3 },
    { from: 3, to: 4 }
  ]);
  assert.deepEqual(
    programsIn(data, 2).map(one => one.label),
    ['branches[0]', 'branches[1]']
  );
});

test('what is read from far away is named, not drawn', () => {
  const equations = [1, 2, 3, 4, 5, 6].map(number => equation(number, 0));
  equations.push(equation(7, 0, { operands: ['v6', 'v1', '2.0:f32[]'] }));
  const [section] = sectionsOf(jaxpr(equations, [program(1, 8)]), program(1, 8));
  const last = section!.nodes.find(one => one.number === 7)!;
  assert.deepEqual(last.far, ['v1']);
  assert.equal(section!.edges.filter(one => one.to === last.id).length, 1);
});

test('a long program has sections, in which earlier ones are named', () => {
  const data = chain(2 * SECTION + 1);
  const sections = sectionsOf(data, data.programs[0]!);
  assert.equal(sections.length, 3);
  assert.deepEqual(sections[1]!.nodes[0]!.far, [`v${SECTION}`]);
  const ids = new Set(sections[1]!.nodes.map(one => one.id));
  assert.ok(sections[1]!.edges.every(one => ids.has(one.from) && ids.has(one.to)));
});
