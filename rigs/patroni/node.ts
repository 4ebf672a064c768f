import { chown, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { freePort } from '../../src/db/embedded/free-port.ts';
import type { ServerUser } from '../../src/db/embedded/server-user.ts';
import { pidOf } from '../chaos/server.ts';
import { BIN, launch, signalLaunched, signalTree } from './programs.ts';

/** The state of a server at a moment. */
export interface State {
  isPrimary: boolean;
  timeline: number | null;
}

export interface Member {
  name: string;
  role: string;
  state: string;
  timeline?: number;
}

/** A server of the cluster, with the Patroni that runs it. */
export interface Node {
  readonly name: string;
  readonly port: number;
  /** URL of a database on it. */
  url(database: string): string;
  /** Null if it does not reply within half a second. */
  state(): Promise<State | null>;
  query<Row extends pg.QueryResultRow>(text: string, values?: unknown[]): Promise<Row[]>;
  /** The members of the cluster, as this Patroni sees them; null if it does not reply. */
  members(): Promise<Member[] | null>;
  /** Asks Patroni for a switchover from this leader, and resolves when it has replied. */
  switchOver(): Promise<void>;
  start(): void;
  /** Ends Patroni and PostgreSQL at once, as when the machine fails. */
  kill(): Promise<void>;
  /** Stops and continues both, as when the machine hangs. */
  freeze(): Promise<void>;
  thaw(): Promise<void>;
  stop(): Promise<void>;
  /** The end of Patroni's log. */
  lastWords(): Promise<string>;
}

interface NodeOptions {
  name: string;
  folder: string;
  user: ServerUser;
  etcdPort: number;
  password: string;
}

export const SUPERUSER = 'postgres';
const REPLY_MS = 500;
/** Those of Patroni's manual, with a shorter time until a leader that is gone is replaced. */
const PERIODS = { ttl: 20, loop_wait: 5, retry_timeout: 5 };

export async function createNode({ name, folder: parent, user, etcdPort, password }: NodeOptions): Promise<Node> {
  const folder = join(parent, name);
  await mkdir(folder, { mode: 0o700 });
  const [port, restPort] = [await freePort(), await freePort()];
  const dataDir = join(folder, 'data');
  const log = join(folder, 'patroni.log');
  const config = join(folder, 'patroni.json');
  const settings = settingsOf({ name, folder, dataDir, port, restPort, etcdPort, password });
  // YAML contains JSON.
  await writeFile(config, JSON.stringify(settings, null, 2), { mode: 0o600 });
  await writeFile(log, '');
  if (user !== null) for (const path of [folder, config, log]) await chown(path, user.uid, user.gid);

  const url = (database: string) => `postgres://${SUPERUSER}:${password}@127.0.0.1:${port}/${database}`;
  const pool = new pg.Pool({
    connectionString: url('postgres'),
    max: 2,
    application_name: 'trial',
    connectionTimeoutMillis: REPLY_MS,
    query_timeout: REPLY_MS,
  });
  pool.on('error', () => undefined);
  let patroni: number | null = null;

  const rest = (path: string, ms: number, body?: object) =>
    fetch(`http://127.0.0.1:${restPort}${path}`, {
      signal: AbortSignal.timeout(ms),
      ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
    });

  async function signal(name: NodeJS.Signals): Promise<void> {
    // Patroni first: it would start another server.
    if (patroni !== null) await signalLaunched(patroni, name);
    const server = await pidOf(dataDir);
    if (server !== null) await signalTree(server, name);
  }

  return {
    name,
    port,
    url,
    query: async <Row extends pg.QueryResultRow>(text: string, values: unknown[] = []) =>
      (await pool.query<Row>(text, values)).rows,
    async state() {
      const found = await pool.query<State>(STATE).catch(() => null);
      return found?.rows[0] ?? null;
    },
    async members() {
      const response = await rest('/cluster', 2000).catch(() => null);
      return response === null ? null : ((await response.json()) as { members: Member[] }).members;
    },
    async switchOver() {
      const response = await rest('/switchover', 60_000, { leader: name });
      if (!response.ok) throw new Error(`the switchover was refused: ${await response.text()}`);
    },
    start() {
      patroni = launch(user, log, BIN.patroni, [config]);
    },
    async kill() {
      await signal('SIGKILL');
      patroni = null;
    },
    freeze: () => signal('SIGSTOP'),
    thaw: () => signal('SIGCONT'),
    async stop() {
      await pool.end().catch(() => undefined);
      await signal('SIGKILL');
      patroni = null;
    },
    lastWords: async () => (await readFile(log, 'utf8').catch(() => '')).split('\n').slice(-15).join('\n'),
  };
}

const STATE = `
  select not pg_is_in_recovery() as "isPrimary",
         case when not pg_is_in_recovery()
              then ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer end as timeline`;

interface SettingsOptions {
  name: string;
  folder: string;
  dataDir: string;
  port: number;
  restPort: number;
  etcdPort: number;
  password: string;
}

function settingsOf({ name, folder, dataDir, port, restPort, etcdPort, password }: SettingsOptions): object {
  const rest = `127.0.0.1:${restPort}`;
  const server = `127.0.0.1:${port}`;
  return {
    scope: 'jobferry-trial',
    name,
    restapi: { listen: rest, connect_address: rest },
    etcd3: { hosts: `127.0.0.1:${etcdPort}` },
    bootstrap: {
      dcs: {
        ...PERIODS,
        synchronous_mode: true,
        postgresql: {
          use_pg_rewind: true,
          use_slots: true,
          parameters: { max_connections: 250, wal_keep_size: '512MB', max_wal_size: '512MB' },
        },
      },
      initdb: [{ encoding: 'UTF8' }, { locale: 'C.UTF-8' }, 'data-checksums'],
    },
    postgresql: {
      listen: server,
      connect_address: server,
      data_dir: dataDir,
      bin_dir: BIN.postgresql,
      pgpass: join(folder, 'pgpass'),
      pg_hba: [
        'local all all scram-sha-256',
        'host all all 127.0.0.1/32 scram-sha-256',
        'host replication replicator 127.0.0.1/32 scram-sha-256',
      ],
      authentication: {
        superuser: { username: SUPERUSER, password },
        replication: { username: 'replicator', password },
        rewind: { username: 'rewinder', password },
      },
      parameters: { unix_socket_directories: folder },
      basebackup: [{ checkpoint: 'fast' }],
    },
    watchdog: { mode: 'off' },
  };
}
