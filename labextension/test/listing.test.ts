import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Listing, indent } from '../src/programs/listing.ts';
import { rowsOf } from '../src/programs/rows.ts';
import { chain, nested } from './programs.ts';

const kinds = (listing: Listing): string[] =>
  listing.shown.map(index => {
    const row = listing.rows[index]!;
    return row.kind === 'equation' ? String(row.number) : row.kind;
  });

test('rows follow the programs inside equations, with their heads and tails', () => {
  const listing = new Listing(rowsOf(nested()));
  assert.deepEqual(
    kinds(listing).join(' '),
    'head 1 2 head 3 tail head 4 5 head 6 tail more tail 7 tail'
  );
  assert.equal(listing.rows[listing.rowOf(6)]!.parent, listing.rowOf(5));
  assert.equal(listing.rows[listing.rowOf(5)]!.parent, listing.rowOf(2));
  assert.equal(indent(listing.rows[listing.rowOf(6)]!), 5);
});

test('folding hides what an equation holds, and revealing shows it', () => {
  const listing = new Listing(rowsOf(nested()));
  listing.fold(listing.rowOf(2), true);
  assert.equal(kinds(listing).join(' '), 'head 1 2 7 tail');
  listing.foldAll();
  listing.reveal(listing.rowOf(6));
  assert.ok(kinds(listing).includes('6'));
  listing.fold(listing.rowOf(1), true);
  assert.equal(listing.isFolded(listing.rowOf(1)), false, 'nothing lies in it');
});

test('a search shows what it finds and what is around it, though it was folded', () => {
  const listing = new Listing(rowsOf(nested()));
  listing.foldAll();
  listing.words = 'V6:';
  assert.equal(kinds(listing).join(' '), '2 5 6');
  assert.equal(listing.found, 1);
  listing.words = '  ';
  assert.equal(listing.found, 7);
  assert.equal(kinds(listing).join(' '), 'head 1 2 7 tail');
});

test('a step shows the trace as it was then', () => {
  const listing = new Listing(rowsOf(nested()));
  listing.step = 3;
  assert.equal(kinds(listing).join(' '), 'head 1 2 head 3 tail head more tail tail');
  assert.equal(listing.current, listing.rowOf(3));
  listing.step = 100;
  assert.equal(listing.step, 7);
  assert.equal(listing.current, -1);
});

test('positions are found among the rows shown', () => {
  const listing = new Listing(rowsOf(nested()));
  listing.fold(listing.rowOf(2), true);
  assert.equal(listing.position(listing.rowOf(7)), 3);
  assert.equal(listing.position(listing.rowOf(4)), -1);
});

test('a long program begins folded, and a hundred thousand equations are listed and searched', () => {
  const listing = new Listing(rowsOf(chain(100_000)));
  assert.equal(listing.shown.length, 100_002);
  listing.words = 'v99999:';
  assert.equal(listing.found, 1);
  assert.ok(new Listing(rowsOf(nested())).shown.length > 5);
});

test('a program whose equations were not sent is listed as far as they were', () => {
  const data = chain(5);
  const listing = new Listing(rowsOf({ ...data, equations: data.equations.slice(0, 3) }));
  assert.equal(kinds(listing).join(' '), 'head 1 2 3 tail');
});

test('the text is the rows, indented', () => {
  assert.match(new Listing(rowsOf(nested())).text(), /^λ ; v0:f32\[\]\n {2}v1:f32/);
});

test('a listing that grows stays searched, folded and stepped', () => {
  const { equations, programs } = nested();
  const data = nested();
  const under = programs.map(one => (one.end > 5 ? { ...one, tail: '' } : one));
  const part = { ...data, equations: equations.slice(0, 5), programs: under.slice(0, 3) };
  const before = new Listing(rowsOf(part));
  assert.equal(kinds(before).join(' '), 'head 1 2 head 3 tail head 4 5 more');
  before.fold(before.rowOf(2), true);
  const after = new Listing(rowsOf(data), before);
  assert.equal(kinds(after).join(' '), 'head 1 2 7 tail');
  assert.equal(after.step, 7);
  before.words = 'scan';
  before.step = 5;
  assert.deepEqual(kinds(new Listing(rowsOf(data), before)), ['2', '5']);
});
