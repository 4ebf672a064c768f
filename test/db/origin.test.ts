import { expect, it } from 'vitest';
import { type Origin, OriginGuard, stepBack } from '../../src/db/origin.ts';
import { openFixture } from './fixture.ts';

const SEEN: Origin = { system: '7', timeline: 11 };

it('asks the server where it stands, also as a user without rights', async () => {
  const { db } = await openFixture();
  const client = await db.pool.connect();
  const { rows } = await client.query<{ system: string }>(
    'select system_identifier::text as system from pg_control_system()',
  );
  await client.query('begin');
  await client.query('create role origin_test');
  await client.query('set local role origin_test');
  const guard = new OriginGuard(db.log);
  await guard.check(client);
  expect(guard.highest).toEqual({ system: rows[0]?.system, timeline: 1 });
  await client.query('rollback');
  client.release();
});

it('goes on without, and says so once, when the server does not tell', async () => {
  const said: string[] = [];
  const guard = new OriginGuard({ warn: (_fields, message) => said.push(message) });
  const client = { query: () => Promise.reject(Object.assign(new Error('denied'), { code: '42501' })) };
  await guard.check(client as never);
  await guard.check(client as never);
  expect(said).toHaveLength(1);
});

it('refuses what is behind or another, says so once, and takes what is not', async () => {
  const said: string[] = [];
  const guard = new OriginGuard({
    warn: (_fields, message) => said.push(`warn ${message}`),
    error: (_fields, message) => said.push(`error ${message}`),
  });
  const at = (origin: Origin) => guard.check({ query: () => Promise.resolve({ rows: [origin] }) } as never);
  await at(SEEN);
  const problem = 'the database went back from timeline 11 to 10';
  for (let n = 0; n < 3; n += 1) await expect(at({ ...SEEN, timeline: 10 })).rejects.toThrow(problem);
  expect(guard.refusal).toBe(problem);
  expect(said).toEqual([expect.stringMatching(`^error ${problem}`)]);
  await at({ ...SEEN, timeline: 12 });
  expect(guard.refusal).toBeNull();
  await expect(at(SEEN)).rejects.toThrow('from timeline 12 to 11');
});

it.each<[Origin, string | null]>([
  [SEEN, null],
  [{ system: '7', timeline: 12 }, null],
  [{ system: '7', timeline: 10 }, 'the database went back from timeline 11 to 10'],
  [{ system: '8', timeline: 12 }, 'the database is another one (system identifier 8, before 7)'],
])('%j after timeline 11', (found, problem) => {
  expect(stepBack(SEEN, found)).toBe(problem);
});
