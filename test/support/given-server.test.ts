import pg from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { createTestDatabase } from './database.ts';
import { checkGivenServer } from './given-server.ts';

async function roleThat(may: string): Promise<string> {
  const { url } = await createTestDatabase();
  const name = `given_${Math.random().toString(36).slice(2)}`;
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(`create role ${name} login password 'secret' ${may}`);
  onTestFinished(async () => {
    await client.query(`drop role ${name}`);
    await client.end();
  });
  const given = new URL(url);
  given.username = name;
  given.password = 'secret';
  return given.href;
}

it('accepts the server of the tests, and returns its version', async () => {
  expect(await checkGivenServer(await roleThat('superuser'))).toMatch(/^\d+\.\d+$/);
});

it('refuses a user who is no superuser', async () => {
  await expect(checkGivenServer(await roleThat('nosuperuser createdb'))).rejects.toThrow(
    'TEST_DATABASE_URL: the tests need a superuser',
  );
});
