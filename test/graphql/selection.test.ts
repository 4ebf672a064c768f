import { buildSchema, execute, parse } from 'graphql';
import { expect, it } from 'vitest';
import { Selection } from '../../src/graphql/selection.ts';

const schema = buildSchema(`
  type Query { jobs: Page event: Event }
  type Page { nodes: [Job] edges: [Edge] totalCount: Int }
  type Edge { node: Job cursor: String }
  type Job { id: ID queue: Queue attempts: Int }
  type Queue { id: ID name: String }
  union Event = Page | Queue
`);

/** The selection below the field of the root, as its resolver sees it. */
function selectionOf(text: string, variableValues: Record<string, unknown> = {}): Selection {
  let seen: Selection | null = null;
  const resolve = (_args: unknown, _context: unknown, info: Parameters<typeof Selection.of>[0]) => {
    seen = Selection.of(info);
    return null;
  };
  void execute({ schema, document: parse(text), rootValue: { jobs: resolve, event: resolve }, variableValues });
  if (seen === null) throw new Error('the field was not resolved');
  return seen;
}

it('joins what fragments, aliases and both lists of a page select', () => {
  const selection = selectionOf(`
    { jobs { first: nodes { id } nodes { ...Row } edges { node { queue { id } } } } }
    fragment Row on Job { attempts queue { ... { name } } }
  `);
  expect([...selection.names].sort()).toEqual(['edges', 'nodes']);
  expect([...selection.items.names].sort()).toEqual(['attempts', 'id', 'queue']);
  expect([...selection.items.below('queue').names].sort()).toEqual(['id', 'name']);
  expect(selection.below('totalCount').names.size).toBe(0);
});

it('is not what is skipped or not included', () => {
  const text =
    'query Q($is: Boolean!) { jobs { totalCount nodes @include(if: $is) { id } edges @skip(if: true) { cursor } } }';
  expect([...selectionOf(text, { is: false }).names]).toEqual(['totalCount']);
  expect(selectionOf(text, { is: true }).has('nodes', 'edges')).toBe(true);
});

it('is what any type of a union selects', () => {
  const selection = selectionOf('{ event { __typename ... on Page { totalCount } ... on Queue { name } } }');
  expect([...selection.names]).toEqual(['totalCount', 'name']);
  expect([selection.hasOnly('name'), selection.hasOnly('name', 'totalCount')]).toEqual([false, true]);
});
