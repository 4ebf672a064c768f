import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ServerPair, startServerPair } from '../../rigs/chaos/server-pair.ts';
import { preflight } from '../../src/db/connection/preflight.ts';
import type { Finding } from '../../src/domain/doctor.ts';
import { runJobferry } from '../support/command.ts';
import { hasGivenServer } from '../support/given-server.ts';
import { openCommands } from '../support/operator.ts';
import { startJobferry } from '../support/process.ts';
import { waitFor } from '../support/wait-for.ts';

/** A primary with a standby that streams from it. */

describe.skipIf(hasGivenServer)('a server with a standby', () => {
  let pair: ServerPair;
  let pool: pg.Pool;

  beforeAll(async () => {
    pair = await startServerPair();
    pool = new pg.Pool({ connectionString: pair.url, max: 2 });
    pool.on('error', () => undefined);
  });
  afterAll(async () => {
    await pool?.end();
    await pair?.stop();
  });

  async function standbys(): Promise<Finding[]> {
    const { json } = await openCommands(pair.url).run('doctor');
    return (json as { findings: Finding[] }).findings.filter(({ check }) => check === 'standbys');
  }

  /** @param names value of synchronous_standby_names */
  async function protectBy(names: string, state: string): Promise<void> {
    await pool.query(`alter system set synchronous_standby_names = '${names}'`);
    await pool.query('select pg_reload_conf()');
    const wanted = 'select from pg_stat_replication where sync_state = $1';
    await waitFor(async () => (await pool.query(wanted, [state])).rowCount === 1, { message: state });
  }

  it('is fine if the standby is synchronous', async () => {
    expect(await preflight(pool, { allowUnsafe: false, name: 'it' })).toEqual([]);
    expect(await standbys()).toEqual([
      expect.objectContaining({ status: 'ok', what: expect.stringMatching(/^1, and/) }),
    ]);
  });

  it('is refused if commits do not wait for it, unless the operator wants that', async () => {
    await pool.query('alter database jobferry set synchronous_commit = local');
    const result = await runJobferry(['serve'], { DATABASE_URL: pair.url });
    expect(result.code).toBe(1);
    expect(result.stderr).toMatch(
      /synchronous_commit is local on a server with standbys: .*: set synchronous_commit = on/,
    );
    expect(await standbys()).toEqual([expect.objectContaining({ status: 'problem', fix: expect.any(String) })]);
    const other = new pg.Pool({ connectionString: pair.url, max: 1 });
    expect(await preflight(other, { allowUnsafe: true, name: 'it' })).toHaveLength(1);
    await other.end();
    await pool.query('alter database jobferry reset synchronous_commit');
  });

  it('is not a backup that reads its WAL', async () => {
    const asReplica = { connectionString: pair.url, application_name: 'pg_basebackup', replication: 'true' };
    const backup = new pg.Client(asReplica as pg.ClientConfig);
    await backup.connect();
    expect((await pool.query('select from pg_stat_replication')).rowCount).toBe(2);
    expect(await standbys()).toEqual([expect.objectContaining({ what: expect.stringMatching(/^1, and/) })]);
    await backup.end();
  });

  it('is warned of if the standby is asynchronous, also by a role without rights', async () => {
    await pool.query(`create role plain login password 'plain'`);
    const url = new URL(pair.url);
    Object.assign(url, { username: 'plain', password: 'plain' });
    const plain = new pg.Pool({ connectionString: url.href, max: 1 });
    expect(await preflight(plain, { allowUnsafe: false, name: 'it' })).toEqual([]);
    await protectBy('', 'async');
    const what = 'the only standby is not synchronous: a failover can lose accepted jobs';
    const fault = { isUnsafe: false, what, fix: expect.stringContaining('synchronous_mode') };
    expect(await preflight(plain, { allowUnsafe: false, name: 'it' })).toEqual([fault]);
    await plain.end();
    expect(await standbys()).toEqual([expect.objectContaining({ status: 'warning', what })]);
    const jobferry = await startJobferry({ databaseUrl: pair.url });
    expect(jobferry.logs.filter(({ msg }) => msg === what)).toEqual([
      expect.objectContaining({ level: 'warn', fix: expect.stringContaining('synchronous_standby_names') }),
    ]);
    await jobferry.kill('SIGKILL');
    await protectBy('standby', 'sync');
  });
});
