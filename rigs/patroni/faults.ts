import { setTimeout as wait } from 'node:timers/promises';
import pg from 'pg';
import { addressOf } from '../../test/support/tcp-relay.ts';
import { waitFor } from '../../test/support/wait-for.ts';
import { note, underWay, untilBusyAgain, untilWorking } from '../chaos/faults.ts';
import type { FaultRecord } from '../chaos/records.ts';
import type { Rig } from '../chaos/rig.ts';
import type { Cluster, ClusterDatabase, Leader } from './cluster.ts';

/** Faults of the leader, each from its start until the cluster is whole again. */

/** Once there is a leader, work goes on within this time. */
const WORKING_MS = 10_000;
/** A frozen leader is continued so long after another has taken over. */
const FROZEN_BESIDE_MS = 15_000;
const WATCH_MS = 100;

/** When the cluster had no leader. */
export interface Outage {
  kind: 'kill-leader' | 'switch-over' | 'freeze-leader';
  at: number;
  leaderAt: number;
  /** When the cluster was whole again. */
  endedAt: number;
}

export interface Freeze extends Outage {
  /** For how long the former leader took writes after it was continued, in milliseconds. */
  tookWritesMs: number;
  /**
   * From the moment at which the former leader was continued until the last change that a process made in it, and, if
   * the cluster went back to it, from the end of the other leader until `/readyz` said so; the longer of both.
   */
  fencedMs: number;
  /** If the cluster went back to the former leader: what was accepted and is gone. */
  wentBack: { from: number; to: number; said: string | null; lostByCluster: number; lost: number } | null;
}

export function clusterOf({ server }: Rig): ClusterDatabase {
  if (!('cluster' in server)) throw new Error('this server is not one of a Patroni cluster');
  return server;
}

/** The readings follow the leader; processes find it themselves. */
function follow(rig: Rig, { node }: Leader): void {
  rig.inside.pointTo(addressOf(node.url('postgres')), 'reset');
}

async function untilWorkGoesOn(rig: Rig, record: FaultRecord, leader: Leader): Promise<number> {
  const overAt = Date.now();
  follow(rig, leader);
  await untilWorking(rig, overAt);
  Object.assign(record, { overAt, healedAt: Date.now(), boundMs: WORKING_MS });
  return overAt;
}

async function failOver(rig: Rig, kind: Outage['kind'], how: (former: Leader) => Promise<unknown>): Promise<Outage> {
  const { cluster } = clusterOf(rig);
  const former = await cluster.protected();
  await untilBusyAgain(rig);
  const record = note(rig, kind, { underWay: underWay(rig) });
  const done = how(former);
  // It is awaited below, when there is a new leader.
  done.catch(() => undefined);
  const next = await cluster.nextLeader(former.timeline);
  const leaderAt = await untilWorkGoesOn(rig, record, next);
  await done;
  await cluster.protected();
  await untilBusyAgain(rig);
  return { kind, at: record.at, leaderAt, endedAt: Date.now() };
}

/** The machine of the leader fails, and comes back when another has taken over. */
export function killLeader(rig: Rig): Promise<Outage> {
  const { cluster } = clusterOf(rig);
  return failOver(rig, 'kill-leader', async ({ node, timeline }) => {
    await node.kill();
    await cluster.nextLeader(timeline);
    node.start();
  });
}

export function switchOver(rig: Rig): Promise<Outage> {
  return failOver(rig, 'switch-over', ({ node }) => node.switchOver());
}

/** The leader hangs, another takes over, and the former one goes on without knowing that. */
export async function freezeLeader(rig: Rig): Promise<Freeze> {
  const { cluster } = clusterOf(rig);
  const former = await cluster.protected();
  await untilBusyAgain(rig);
  const record = note(rig, 'freeze-leader', { underWay: underWay(rig) });
  await former.node.freeze();
  try {
    const next = await cluster.nextLeader(former.timeline);
    const leaderAt = await untilWorkGoesOn(rig, record, next);
    await wait(FROZEN_BESIDE_MS);
    const thawedAt = Date.now();
    await former.node.thaw();
    const seen = await watchReturn(rig, cluster, former, next);
    const outage = { kind: 'freeze-leader' as const, at: record.at, leaderAt, endedAt: Date.now() };
    const changesMs = Math.max(0, Math.round((seen.lastChangeAt ?? 0) - thawedAt));
    const { tookWritesMs, present } = seen;
    if (present.timeline >= next.timeline) {
      await untilBusyAgain(rig);
      return { ...outage, endedAt: Date.now(), tookWritesMs, fencedMs: changesMs, wentBack: null };
    }
    const saidMs = Math.max(0, (seen.saidAt ?? Date.now()) - (seen.endedAt ?? thawedAt));
    const wentBack = {
      from: next.timeline,
      to: present.timeline,
      said: seen.said,
      ...(await goOn(rig, present, leaderAt)),
    };
    return { ...outage, tookWritesMs, fencedMs: Math.max(changesMs, saidMs), wentBack };
  } finally {
    await former.node.thaw();
  }
}

interface Return {
  tookWritesMs: number;
  /** The last change of a job in the former leader, as far as it was seen. */
  lastChangeAt: number | null;
  /** When the leader that had taken over was first seen without that role. */
  endedAt: number | null;
  /** When and how `/readyz` said that the database went back. */
  saidAt: number | null;
  said: string | null;
  /** The leader at the end. */
  present: Leader;
}

const LAST_CHANGE = 'select (extract(epoch from max(at)) * 1000)::float8 as at from chaos_change';

/** Watches until the cluster is whole, under whichever leader. */
async function watchReturn(rig: Rig, cluster: Cluster, former: Leader, next: Leader): Promise<Return> {
  const seen: Omit<Return, 'present'> = {
    tookWritesMs: 0,
    lastChangeAt: null,
    endedAt: null,
    saidAt: null,
    said: null,
  };
  const connectionString = former.node.url(clusterOf(rig).name);
  const inFormer = new pg.Pool({ connectionString, max: 1, connectionTimeoutMillis: 500, query_timeout: 500 });
  inFormer.on('error', () => undefined);
  let present: Leader | null = null;
  let failure: unknown = null;
  const whole = cluster.protected().then(
    (leader) => (present = leader),
    (error: unknown) => (failure = error),
  );
  for (let last = Date.now(); present === null && failure === null; ) {
    const [old, other] = await Promise.all([former.node.state(), next.node.state()]);
    const changed =
      old?.isPrimary === true ? await inFormer.query<{ at: number | null }>(LAST_CHANGE).catch(() => null) : null;
    const now = Date.now();
    if (old?.isPrimary === true) seen.tookWritesMs += now - last;
    seen.lastChangeAt = changed?.rows[0]?.at ?? seen.lastChangeAt;
    if (other !== null && !other.isPrimary) seen.endedAt ??= now;
    if (seen.said === null) {
      seen.said = await saidOf(rig);
      if (seen.said !== null) seen.saidAt = Date.now();
    }
    last = now;
    await wait(WATCH_MS);
  }
  await whole;
  await inFormer.end();
  if (present === null) throw failure;
  return { ...seen, present };
}

async function saidOf({ apis }: Rig): Promise<string | null> {
  for (const { process } of apis) {
    if (process === null) continue;
    const response = await fetch(`${process.baseUrl}/readyz`, { signal: AbortSignal.timeout(2000) }).catch(() => null);
    const { checks } = ((await response?.json()) ?? {}) as { checks?: { database?: string } };
    if (checks?.database?.includes('went back') === true) return checks.database;
  }
  return null;
}

/**
 * Acts as the operator when the cluster went back and that cannot be repaired: restarts the processes, so that they
 * accept the database as it is.
 */
async function goOn(rig: Rig, present: Leader, leaderAt: number): Promise<{ lostByCluster: number; lost: number }> {
  await rig.load.stop();
  const accepted = new Map(rig.load.publishes.flatMap((one) => (one.id === null ? [] : [[one.id, one] as const])));
  const client = new pg.Client({ connectionString: present.node.url(clusterOf(rig).name) });
  await client.connect();
  const stored = await client.query<{ id: string }>('select id from job where id = any ($1)', [[...accepted.keys()]]);
  await client.end();
  for (const { id } of stored.rows) accepted.delete(id);
  const gone = [...accepted.values()];
  // The new leader was seen within this time after it had begun.
  const byCluster = gone.filter(({ endedAt }) => endedAt > leaderAt - 1000);

  follow(rig, present);
  await Promise.all([...rig.apis, ...rig.workers].map((slot) => slot.end('SIGTERM')));
  await Promise.all([...rig.apis, ...rig.workers].map((slot) => slot.ready()));
  const since = Date.now();
  const queue = rig.queues[0];
  if (queue === undefined) throw new Error('there is no queue');
  await waitFor(async () => (await rig.load.publish(queue)).outcome === 'ok', { everyMs: 500, message: 'a publish' });
  await untilWorking(rig, since - 1);
  return { lostByCluster: byCluster.length, lost: gone.length - byCluster.length };
}
