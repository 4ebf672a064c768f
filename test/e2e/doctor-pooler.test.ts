import { describe, expect, it } from 'vitest';
import { freePort } from '../../src/db/embedded/free-port.ts';
import type { Finding } from '../../src/domain/doctor.ts';
import { createTestDatabase } from '../support/database.ts';
import { openCommands } from '../support/operator.ts';
import { hasNoPgBouncer, startPgBouncer } from '../support/pgbouncer.ts';

/** Findings of `doctor` about a pooler and the address past it, through the machine's PgBouncer. */

const SETTINGS = 'set statement_timeout = 4000; set idle_in_transaction_session_timeout = 10000; set jit = off';
const IGNORED = 'statement_timeout,idle_in_transaction_session_timeout,options';

async function findings(databaseUrl: string, variables: Record<string, string> = {}): Promise<Partial<Finding>[]> {
  const { json } = await openCommands(databaseUrl, variables).run('doctor');
  const found = (json as { findings: Finding[] }).findings.filter(({ check }) => check === 'pooler');
  return found.map(({ status, what, fix }) => ({ status, what, fix }));
}

it('is not missed where there is none', async () => {
  const { url } = await createTestDatabase();
  expect(await findings(url)).toEqual([{ status: 'ok', what: 'there is none', fix: null }]);
});

describe.skipIf(hasNoPgBouncer)('doctor behind a pooler', () => {
  it('finds one in transaction mode in order, every time', async () => {
    const { url } = await createTestDatabase();
    const pooler = await startPgBouncer(url, { mode: 'transaction', connectQuery: SETTINGS });
    for (let n = 0; n < 3; n += 1) {
      expect(await findings(pooler, { DIRECT_DATABASE_URL: url })).toEqual([
        { status: 'ok', what: 'in transaction mode; both URLs lead to the same server', fix: null },
      ]);
    }
  });

  it('finds that the address of the server is missing', async () => {
    const { url } = await createTestDatabase();
    const pooler = await startPgBouncer(url, { mode: 'transaction', ignored: IGNORED });
    expect(await findings(pooler)).toEqual([
      {
        status: 'problem',
        what: expect.stringContaining('DATABASE_URL leads to a pooler'),
        fix: expect.stringContaining('set DIRECT_DATABASE_URL'),
      },
    ]);
  });

  it.each([
    ['session', 'warning', 'seems to be in session mode'],
    ['statement', 'problem', 'in statement mode, in which transactions are refused'],
  ] as const)('finds one in %s mode', async (mode, status, what) => {
    const { url } = await createTestDatabase();
    const pooler = await startPgBouncer(url, { mode, connectQuery: SETTINGS });
    const fix = expect.stringContaining('pool_mode = transaction');
    expect(await findings(pooler, { DIRECT_DATABASE_URL: url })).toEqual([
      { status, what: expect.stringContaining(what), fix },
    ]);
  });

  it('finds lost settings, with the statement that makes them', async () => {
    const { url } = await createTestDatabase();
    const pooler = await startPgBouncer(url, { mode: 'transaction', connectQuery: 'set jit = off' });
    expect(await findings(pooler, { DIRECT_DATABASE_URL: url })).toEqual([
      {
        status: 'problem',
        what: expect.stringContaining('lack settings'),
        fix: expect.stringContaining('set statement_timeout = 4000; set idle_in_transaction_session_timeout = 10000"'),
      },
    ]);
  });

  it('finds that the server cannot be reached, is a pooler, or is another one', async () => {
    const [{ url }, { url: other }] = [await createTestDatabase(), await createTestDatabase()];
    const pooler = await startPgBouncer(url, { mode: 'transaction', connectQuery: SETTINGS });
    const second = await startPgBouncer(url, { mode: 'transaction', ignored: IGNORED });
    const said = async (direct: string) =>
      (await findings(pooler, { DIRECT_DATABASE_URL: direct })).map(({ what }) => what);
    const nowhere = `postgres://u@127.0.0.1:${await freePort()}/x`;
    expect(await said(nowhere)).toEqual([expect.stringContaining('DIRECT_DATABASE_URL cannot be reached')]);
    expect(await said(second)).toContainEqual(expect.stringContaining('DIRECT_DATABASE_URL leads to a pooler, too'));
    // This one refuses the settings of a client, before a query could show that it is a pooler.
    expect(await said(pooler)).toContainEqual(expect.stringContaining('DIRECT_DATABASE_URL leads to a pooler, too'));
    expect(await said(other)).toEqual([expect.stringContaining('lead to different databases')]);
  });
});
