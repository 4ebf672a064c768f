import { execFileSync } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../src/db/embedded/free-port.ts';
import { chooseServerUser } from '../../src/db/embedded/server-user.ts';
import { atEndOfFile } from '../../test/support/end-of-file.ts';

/** Programs of an installed PostgreSQL, for `describe.skipIf`; null if there is none. */
export const POSTGRES_15: string | null =
  ['/usr/lib/postgresql/15/bin', '/usr/pgsql-15/bin', '/opt/homebrew/opt/postgresql@15/bin'].find((path) =>
    existsSync(join(path, 'initdb')),
  ) ?? null;

export interface InstalledServer {
  /** The address for a role that owns its database and may do nothing else. */
  url: string;
  /** Returns the address of a new database of that role. */
  createDatabase(name: string): string;
  /** Runs a client program, such as `pg_dump`. */
  run(program: string, ...args: string[]): string;
  /** Lines of the server's log with these severities. */
  logged(severities: RegExp): string[];
}

/**
 * Starts a PostgreSQL 15 as an operator would, as a user without rights. It ends with the test file.
 * @param parent the folder of its folder
 */
export async function startInstalled(parent = tmpdir()): Promise<InstalledServer> {
  const folder = mkdtempSync(join(parent, 'jobferry-trial-'));
  const user = await chooseServerUser(folder);
  if (user !== null) chownSync(folder, user.uid, user.gid);
  const run = (program: string, ...args: string[]) =>
    execFileSync(join(POSTGRES_15 ?? '', program), args, {
      ...user,
      cwd: folder,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  const [data, log, port] = [join(folder, 'data'), join(folder, 'log'), await freePort()];
  run('initdb', '-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C.UTF-8', '--no-instructions');
  // Its output goes to the log: a pipe that the server inherits would never end.
  execFileSync(
    join(POSTGRES_15 ?? '', 'pg_ctl'),
    [
      '-D',
      data,
      '-l',
      log,
      '-o',
      `-p ${port} -c listen_addresses=127.0.0.1 -c max_connections=200 -k ${folder}`,
      '-w',
      'start',
    ],
    { ...user, cwd: folder, stdio: 'ignore' },
  );
  atEndOfFile(() => {
    run('pg_ctl', '-D', data, '-m', 'immediate', '-w', 'stop');
    rmSync(folder, { recursive: true, force: true });
  });
  const psql = (text: string) => run('psql', '-h', '127.0.0.1', '-p', String(port), '-U', 'postgres', '-qc', text);
  psql(`create role jobferry login`);
  const createDatabase = (name: string) => {
    psql(`create database ${name} owner jobferry`);
    return `postgres://jobferry@127.0.0.1:${port}/${name}`;
  };
  return {
    url: createDatabase('jobferry'),
    createDatabase,
    run,
    logged: (severities) =>
      readFileSync(log, 'utf8')
        .split('\n')
        .filter((line) => severities.test(line)),
  };
}
