import { randomBytes } from 'node:crypto';
import { access, chmod, chown, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { freePort } from '../../src/db/embedded/free-port.ts';
import { migrate } from '../../src/db/schema/migrate.ts';
import { installWakeUps } from '../../src/worker/wake-ups/runner.ts';
import { waitFor } from '../../test/support/wait-for.ts';
import type { DatabaseServer } from '../chaos/server.ts';
import { createNode, type Node, SUPERUSER } from './node.ts';
import { BIN, endWithThisProcess, findUser, launch, signalLaunched } from './programs.ts';

const quiet = { info: () => undefined, warn: () => undefined };
const START_MS = 180_000;
const RECOVERY_MS = 240_000;

export interface Leader {
  node: Node;
  timeline: number;
}

/** A database of the cluster, for one run. */
export interface ClusterDatabase extends DatabaseServer {
  readonly hostsUrl: string;
  readonly cluster: Cluster;
  readonly name: string;
}

/** Three servers under Patroni in synchronous mode, with etcd. */
export interface Cluster {
  readonly nodes: readonly Node[];
  /** Creates a database, and the schema in it. */
  open(name: string): Promise<ClusterDatabase>;
  /** Resolves when a server takes writes on a higher timeline. */
  nextLeader(after: number): Promise<Leader>;
  /** Resolves when all servers follow one leader, and its commits wait for one of them. */
  protected(): Promise<Leader>;
  /** The last log lines of each Patroni. */
  lastWords(): Promise<string>;
  stop(): Promise<void>;
}

export async function startCluster(): Promise<Cluster> {
  for (const program of [BIN.etcd, BIN.patroni, `${BIN.postgresql}/postgres`]) {
    await access(program).catch(() => {
      throw new Error(`${program} is missing: install patroni, etcd-server and postgresql-15 of Debian 12`);
    });
  }
  const user = await findUser();
  // In memory, because etcd on a busy disk is what would cause failovers that no fault explains.
  const inMemory = await access('/dev/shm').then(
    () => '/dev/shm',
    () => tmpdir(),
  );
  const [folder, etcdFolder] = [
    await mkdtemp(join(tmpdir(), 'jobferry-patroni-')),
    await mkdtemp(join(inMemory, 'jobferry-etcd-')),
  ];
  for (const path of [folder, etcdFolder]) {
    await chmod(path, 0o700);
    if (user !== null) await chown(path, user.uid, user.gid);
  }
  const leave = endWithThisProcess([folder, etcdFolder]);
  const etcdPort = await freePort();
  const etcd = launch(user, await logIn(folder, 'etcd.log', user), BIN.etcd, await etcdArguments(etcdFolder, etcdPort));
  const password = randomBytes(12).toString('hex');
  const nodes: Node[] = [];
  for (const name of ['n1', 'n2', 'n3']) nodes.push(await createNode({ name, folder, user, etcdPort, password }));

  const lastWords = async () =>
    (await Promise.all(nodes.map(async (node) => `${node.name}:\n${await node.lastWords()}`))).join('\n');

  async function stop(): Promise<void> {
    await Promise.all(nodes.map((node) => node.stop()));
    await signalLaunched(etcd, 'SIGKILL');
    // PostgreSQL may still write its last files.
    for (const path of [folder, etcdFolder]) await rm(path, { recursive: true, force: true, maxRetries: 10 });
    await leave();
  }

  async function primaries(): Promise<Leader[]> {
    const states = await Promise.all(nodes.map(async (node) => ({ node, state: await node.state() })));
    return states
      .flatMap(({ node, state }) =>
        state?.isPrimary === true && state.timeline !== null ? [{ node, timeline: state.timeline }] : [],
      )
      .sort((a, b) => b.timeline - a.timeline);
  }

  async function nextLeader(after: number): Promise<Leader> {
    let found: Leader | null = null;
    // Each by itself: a server that hangs must not delay what is seen of the others.
    const watch = async (node: Node) => {
      const state = await node.state();
      if (state?.isPrimary === true && (state.timeline ?? 0) > after) found ??= { node, timeline: state.timeline ?? 0 };
      return found;
    };
    const options = { timeoutMs: RECOVERY_MS, everyMs: 50, message: 'a new leader' };
    return Promise.race(nodes.map((node) => waitFor(() => watch(node), options)));
  }

  async function whole(): Promise<Leader | null> {
    const [present, ...others] = await primaries();
    if (present === undefined || others.length > 0) return null;
    const standbys = await present.node.query<{ state: string; sync_state: string }>(
      'select state, sync_state from pg_stat_replication',
    );
    const isWhole = standbys.length === nodes.length - 1 && standbys.every(({ state }) => state === 'streaming');
    if (!isWhole || !standbys.some((one) => one.sync_state === 'sync')) return null;
    // Patroni writes its name to etcd some seconds later. A leader that dies before leaves no standby that may take
    // over.
    const members = (await present.node.members()) ?? [];
    return members.some(({ role }) => role === 'sync_standby') ? present : null;
  }

  const protectedNow = (timeoutMs = RECOVERY_MS) =>
    waitFor(() => whole().catch(() => null), { timeoutMs, everyMs: 200, message: 'a cluster of three' });

  async function open(name: string): Promise<ClusterDatabase> {
    const { node } = await protectedNow();
    const client = new pg.Client({ connectionString: node.url('postgres') });
    await client.connect();
    await client.query(`create database ${name}`).finally(() => client.end());
    const url = node.url(name);
    await migrate({ url, log: quiet, afterMigrations: () => installWakeUps(url) });
    const hosts = nodes.map(({ port }) => `127.0.0.1:${port}`).join(',');
    const hostsUrl = `postgres://${SUPERUSER}:${password}@${hosts}/${name}?target_session_attrs=read-write`;
    return {
      url,
      hostsUrl,
      cluster,
      name,
      back: () => protectedNow().then(() => undefined),
      // The cluster is stopped at the end of the trial.
      stop: async () => undefined,
    };
  }

  const cluster: Cluster = { nodes, open, nextLeader, lastWords, stop, protected: () => protectedNow() };
  try {
    for (const node of nodes) node.start();
    await protectedNow(START_MS);
    return cluster;
  } catch (error) {
    const said = await lastWords();
    await stop();
    throw new Error(`the cluster did not start: ${String(error)}\n${said}`, { cause: error });
  }
}

async function logIn(folder: string, name: string, user: { uid: number; gid: number } | null): Promise<string> {
  const log = join(folder, name);
  await writeFile(log, '');
  if (user !== null) await chown(log, user.uid, user.gid);
  return log;
}

async function etcdArguments(folder: string, port: number): Promise<string[]> {
  const [client, peer] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${await freePort()}`];
  return [
    `--data-dir=${join(folder, 'data')}`,
    `--listen-client-urls=${client}`,
    `--advertise-client-urls=${client}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=default=${peer}`,
  ];
}
