import pg from 'pg';

/** The server is not one that Jobferry can keep its promises on. */
export class PreflightError extends Error {
  override readonly name = 'PreflightError';
}

const MIN_VERSION = 150_000;

/**
 * Looks at the server before anything else: a 201 promises that the job survives, so a server that
 * forgets commits in a crash is refused.
 * @throws PreflightError with a line for the operator
 */
export async function preflight(url: string, options: { allowUnsafeDurability: boolean }): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5000, application_name: 'jobferry' });
  try {
    await client.connect();
  } catch (error) {
    throw new PreflightError(`cannot reach the database of DATABASE_URL: ${reasonOf(error)}`, { cause: error });
  }
  try {
    const { rows } = await client.query<{ version: number; fsync: string; commit: string }>(
      `select current_setting('server_version_num')::int as version, current_setting('fsync') as fsync,
              current_setting('synchronous_commit') as commit`,
    );
    const server = rows[0];
    if (server === undefined) throw new PreflightError('the database did not describe itself');
    if (server.version < MIN_VERSION) {
      throw new PreflightError(
        `the database is PostgreSQL ${Math.floor(server.version / 10_000)}; Jobferry needs 15 or newer`,
      );
    }
    const unsafe = [server.fsync === 'off' && 'fsync', server.commit === 'off' && 'synchronous_commit'].filter(Boolean);
    if (unsafe.length > 0 && !options.allowUnsafeDurability) {
      throw new PreflightError(
        `${unsafe.join(' and ')} of the database is off, so a crash could lose jobs that were accepted: ` +
          'turn it on, or set ALLOW_UNSAFE_DURABILITY=1 to accept that',
      );
    }
  } finally {
    await client.end();
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join(', ');
  return error instanceof Error ? error.message : String(error);
}
