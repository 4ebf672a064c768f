import { beforeAll, describe, expect, it } from 'vitest';
import { createTestDatabase } from '../support/database.ts';
import type { GraphQL } from '../support/graphql.ts';
import { openGraphQL } from '../support/graphql-server.ts';
import { UNKNOWN_ID } from '../support/shapes.ts';

/** Saved filters of the dashboard, over the wire, each test with an account of its own. */

let server: Awaited<ReturnType<typeof openGraphQL>>;

beforeAll(async () => {
  const { url } = await createTestDatabase();
  server = await openGraphQL(url);
});

const newGraphQL = async () => (await server.newAccount()).graphql;

async function save(graphql: GraphQL, view: object = {}) {
  const { saveView } = await graphql.query(
    `mutation S($input: SaveViewInput!) {
      saveView(input: $input) {
        __typename
        ... on SaveViewPayload { view { id page name query createdAt createdBy } }
        ... on ValidationError { fieldErrors { field messages } }
        ... on Error { message }
      }
    }`,
    { input: { page: 'JOBS', name: 'Refunds', query: 'q=state:dead', ...view } },
  );
  return saveView;
}

async function remove(graphql: GraphQL, id: string) {
  const { deleteSavedView } = await graphql.query(
    `mutation D($id: ID!) { deleteSavedView(id: $id) { __typename ... on DeleteSavedViewPayload { id } } }`,
    { id },
  );
  return deleteSavedView;
}

async function names(graphql: GraphQL): Promise<string[]> {
  const { savedViews } = await graphql.query('{ savedViews { page name } }');
  return savedViews.map(({ page, name }: { page: string; name: string }) => `${page} ${name}`);
}

describe('a saved view', () => {
  it('is there for the account until it is deleted, and the audit log says by whom', async () => {
    const graphql = await newGraphQL();
    const { me } = await graphql.query('{ me { label } }');
    const { view } = await save(graphql, { name: '  Refunds of today ' });
    expect(view).toEqual({
      id: expect.any(String),
      page: 'JOBS',
      name: 'Refunds of today',
      query: 'q=state:dead',
      createdAt: expect.any(String),
      createdBy: me.label,
    });
    await save(graphql, { name: 'b', page: 'DEAD_LETTERS', query: '' });
    await save(graphql, { name: 'A' });
    expect(await names(graphql)).toEqual(['JOBS A', 'JOBS Refunds of today', 'DEAD_LETTERS b']);
    expect(await remove(graphql, view.id)).toEqual({ __typename: 'DeleteSavedViewPayload', id: view.id });
    expect(await names(graphql)).toEqual(['JOBS A', 'DEAD_LETTERS b']);
    expect((await remove(graphql, view.id)).__typename).toBe('NotFoundError');

    const { auditLog } = await graphql.query(
      `query A($id: ID!) { auditLog(targetId: $id) { nodes { action actor targetType targetName before after } } }`,
      { id: view.id },
    );
    const stored = { page: 'jobs', query: 'q=state:dead' };
    const by = { actor: me.label, targetType: 'saved_view', targetName: 'Refunds of today' };
    expect(auditLog.nodes).toEqual([
      { ...by, action: 'saved_view.delete', before: stored, after: null },
      { ...by, action: 'saved_view.save', before: null, after: stored },
    ]);
  });

  it('has a name of its own on its page', async () => {
    const graphql = await newGraphQL();
    await save(graphql);
    expect(await save(graphql, { query: 'q=state:held' })).toMatchObject({
      __typename: 'ConflictError',
      message: 'a view with the name “Refunds” exists: delete it first',
    });
    await save(graphql, { page: 'DEAD_LETTERS' });
    const { savedViews } = await graphql.query('{ savedViews { page query } }');
    expect(savedViews).toEqual([
      { page: 'JOBS', query: 'q=state:dead' },
      { page: 'DEAD_LETTERS', query: 'q=state:dead' },
    ]);
  });

  it.each([
    ['name', { name: ' \t ' }],
    ['name', { name: 'n'.repeat(65) }],
    ['name', { name: 'a\u0000b' }],
    ['name', { name: 'a\nb' }],
    ['name', { name: 'a\ud800' }],
    ['query', { query: 'x'.repeat(2001) }],
    ['query', { query: 'q=a b' }],
    ['query', { query: 'q=a#b' }],
    ['query', { query: '?q=a' }],
    ['query', { query: 'q=ü' }],
  ])('is refused with a wrong %s: %j', async (field, view) => {
    const graphql = await newGraphQL();
    expect((await save(graphql, view)).fieldErrors).toEqual([{ field, messages: [expect.any(String)] }]);
    expect(await names(graphql)).toEqual([]);
  });

  it('may have the longest name and query', async () => {
    const graphql = await newGraphQL();
    const { view } = await save(graphql, { name: 'n'.repeat(64), query: 'x'.repeat(2000) });
    expect([view.name.length, view.query.length]).toEqual([64, 2000]);
  });

  it('is one of a hundred', async () => {
    const graphql = await newGraphQL();
    const all = Array.from({ length: 100 }, (_, n) => save(graphql, { name: `view ${n}` }));
    expect(new Set((await Promise.all(all)).map(({ __typename }) => __typename))).toEqual(new Set(['SaveViewPayload']));
    expect(await save(graphql, { name: 'one more' })).toMatchObject({
      __typename: 'ForbiddenError',
      message: 'an account may have 100 saved views: delete one first',
    });
    expect(await names(graphql)).toHaveLength(100);
  });

  it('is not found by another account', async () => {
    const [graphql, other] = [await newGraphQL(), await newGraphQL()];
    const { view } = await save(graphql);
    expect(await names(other)).toEqual([]);
    for (const id of [view.id, UNKNOWN_ID, 'x']) expect((await remove(other, id)).__typename).toBe('NotFoundError');
    await save(other);
    expect([await names(graphql), await names(other)]).toEqual([['JOBS Refunds'], ['JOBS Refunds']]);
  });
});
