import pg from 'pg';

/** URL of a superuser on a running server, on which the tests run instead of an embedded one. */
export const GIVEN_SERVER = process.env.TEST_DATABASE_URL;

/**
 * For `describe.skipIf` and `it.skipIf`: tests that start, kill or restart a server. They test the embedded one,
 * whatever server is given, and a machine with a given server may have no embedded one.
 */
export const hasGivenServer = GIVEN_SERVER !== undefined;

/** Five test files at once, with several services of up to 24 connections each. */
const CONNECTIONS = 600;

/**
 * Refuses a server on which tests would fail for reasons of the server.
 * @returns its version, as in `15.14`
 */
export async function checkGivenServer(url: string): Promise<string> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10_000 });
  await client.connect();
  try {
    const { rows } = await client.query<{ version: string; connections: number; superuser: boolean }>(
      `select current_setting('server_version') as version, current_setting('max_connections')::int as connections,
              rolsuper as superuser from pg_roles where rolname = current_user`,
    );
    const { version = '', connections = 0, superuser = false } = rows[0] ?? {};
    if (!superuser) throw new Error('TEST_DATABASE_URL: the tests need a superuser');
    if (connections < CONNECTIONS) {
      throw new Error(
        `TEST_DATABASE_URL: the server allows ${connections} connections, set max_connections = ${CONNECTIONS}`,
      );
    }
    return version.replace(/ .*/, '');
  } finally {
    await client.end();
  }
}
