import { readFile } from 'node:fs/promises';
import type pg from 'pg';
import { describe, expect, it } from 'vitest';
import { migrate, schemaReport } from '../../src/db/schema/migrate.ts';
import { applyFunctions, type FunctionSet, ownFunctions, storedFunctions } from '../../src/db/schema/sql-functions.ts';
import { connect, createTestDatabase } from '../support/database.ts';
import { DELIVERED, openFixture } from '../support/database-fixture.ts';
import { waitFor } from '../support/wait-for.ts';

const quiet = { info: () => undefined, warn: () => undefined };
const own = ownFunctions();
async function openDatabase() {
  const { url } = await createTestDatabase();
  return { url, client: await connect(url) };
}

/** The present functions with a mark in each body, as a build would have them that came so many versions before. */
function marked(versionsBefore: number): FunctionSet {
  const mark = (text: string) => text.replaceAll('as $$', () => 'as $$ -- marked\n');
  const files = own.files.map(({ name, text }) => ({ name, text: mark(text) }));
  return { version: own.version - versionsBefore, hash: `marked-${versionsBefore}`, files };
}

/** Makes the database one that a build with these functions has left. */
async function downgrade(client: pg.Client, functions: FunctionSet): Promise<void> {
  await client.query('delete from schema_functions');
  await applyFunctions(client, functions);
}

/** How many of the functions in files have the mark, and how many have not. */
async function marks(client: pg.Client): Promise<{ with: number; without: number }> {
  const { rows } = await client.query<{ with: number; without: number }>(
    `select (count(*) filter (where prosrc like '%-- marked%'))::integer as with,
            (count(*) filter (where prosrc not like '%-- marked%'))::integer as without
       from pg_proc
      where pronamespace = 'public'::regnamespace and proname like 'jobferry%'
        and proname not in ('jobferry_now', 'jobferry_id')`,
  );
  return rows[0] ?? { with: 0, without: 0 };
}

const COUNT = own.files.reduce((sum, { text }) => sum + (text.match(/^create or replace function/gm) ?? []).length, 0);

describe('the functions of the files', () => {
  it('have their version and hash in the last line of prisma/functions/versions', async () => {
    const text = await readFile(new URL('../../prisma/functions/versions', import.meta.url), 'utf8');
    const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    expect(lines.map((line) => Number(line.split(' ')[0]))).toEqual(lines.map((_, index) => index + 1));
    expect(lines.at(-1), 'run `npm run generate`, which adds a line').toBe(`${own.version} ${own.hash}`);
  });

  it('are what a database has, and all that it has', async () => {
    const { client } = await openDatabase();
    expect(await storedFunctions(client)).toEqual({ version: own.version, hash: own.hash });
    expect(await marks(client)).toEqual({ with: 0, without: COUNT });
  });

  // A start applies them unchecked, because they call one another in any order.
  it('have bodies that PostgreSQL accepts', async () => {
    const { client } = await openDatabase();
    for (const { name, text } of own.files) await expect(client.query(text), name).resolves.toBeDefined();
  });
});

describe('a start', () => {
  it('replaces the functions of an earlier version, once', async () => {
    const { url, client } = await openDatabase();
    await downgrade(client, marked(1));
    expect(await marks(client)).toEqual({ with: COUNT, without: 0 });
    expect((await schemaReport(client)).state).toBe('behind');

    const said: object[] = [];
    const log = { ...quiet, info: (fields: object) => said.push(fields) };
    const results = await Promise.all([1, 2, 3].map(() => migrate({ url, log })));
    expect(results).toEqual([{ applied: [] }, { applied: [] }, { applied: [] }]);
    expect(said.filter((fields) => 'hash' in fields)).toEqual([
      { version: own.version, hash: own.hash, before: own.version - 1 },
    ]);
    expect(await marks(client)).toEqual({ with: 0, without: COUNT });
    expect((await schemaReport(client)).state).toBe('current');
  });

  it('replaces the functions of the same version with another text, as an edit leaves them', async () => {
    const { url, client } = await openDatabase();
    await downgrade(client, marked(0));
    expect((await schemaReport(client)).state).toBe('behind');
    await migrate({ url, log: quiet });
    expect(await marks(client)).toEqual({ with: 0, without: COUNT });
    expect((await schemaReport(client)).state).toBe('current');
  });

  it('is refused by a database with the functions of a later version, and leaves them', async () => {
    const { url, client } = await openDatabase();
    await applyFunctions(client, marked(-1));
    expect((await schemaReport(client)).state).toBe('newer');
    const refusal = `migrated by a later version of Jobferry (functions ${own.version + 1})`;
    await expect(migrate({ url, log: quiet })).rejects.toThrow(refusal);
    expect(await marks(client)).toEqual({ with: COUNT, without: 0 });
  });

  it('leaves all functions as they were when one of them is refused', async () => {
    const { client } = await openDatabase();
    const broken = { name: 'zzz.sql', text: 'create or replace function jobferry_broken() returns nothing as $$ $$;' };
    const { files, ...next } = marked(-1);
    const attempt = applyFunctions(client, { ...next, files: [...files, broken] });
    await expect(attempt).rejects.toThrow(
      /^SQL functions \d+ failed in zzz\.sql, the database keeps those that it had: /,
    );
    expect(await marks(client)).toEqual({ with: 0, without: COUNT });
    expect((await schemaReport(client)).state).toBe('current');
  });
});

it('replaces functions under load without an error', async () => {
  const fixture = await openFixture();
  const url = fixture.url;
  const client = await connect(url);
  let isOver = false;
  let settled = 0;
  const published = new Set<string>();

  async function deliver(): Promise<void> {
    const queue = await fixture.createQueue();
    while (!isOver) {
      for (const id of await fixture.publishJobs(queue, 5)) published.add(id);
      for (const job of (await fixture.claim(queue)).jobs) {
        expect(await fixture.settle(job, DELIVERED)).toBe(true);
        settled += 1;
      }
    }
  }

  const load = Promise.all(Array.from({ length: 4 }, deliver));
  const more = async () => {
    const enough = settled + 40;
    await Promise.race([load, waitFor(() => settled >= enough, { message: 'a load that goes on' })]);
  };
  try {
    for (let round = 0; round < 5; round += 1) {
      await downgrade(client, marked(1));
      await more();
      expect(await marks(client)).toEqual({ with: COUNT, without: 0 });
      await migrate({ url, log: quiet });
      await more();
      expect(await marks(client)).toEqual({ with: 0, without: COUNT });
    }
  } finally {
    isOver = true;
    await load;
  }
  const { rows } = await client.query('select status, count(*)::integer from job group by 1');
  expect(rows).toEqual([{ status: 'completed', count: published.size }]);
});

it('a database of a build before the first release is refused with what to do', async () => {
  const { url, client } = await openDatabase();
  await client.query(`update _prisma_migrations set migration_name = '20261121000000_init'`);
  await expect(migrate({ url, log: quiet })).rejects.toThrow(
    'has migrations that no release of Jobferry has, such as 20261121000000_init: use an empty database',
  );
});
