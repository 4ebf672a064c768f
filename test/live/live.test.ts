import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Database } from '../../src/db/connection/database.ts';
import { Listener, notify } from '../../src/db/connection/notifications.ts';
import type { ErrorKind, JobferryError } from '../../src/domain/errors.ts';
import { createLive, type LiveOptions, type LiveService } from '../../src/live/hub.ts';
import type { Changes, Watch } from '../../src/live/live.ts';
import { NAMED_JOBS } from '../../src/live/pending-changes.ts';
import { createTestDatabase } from '../support/database.ts';
import { patient } from '../support/database-fixture.ts';
import { relayDatabase } from '../support/tcp-relay.ts';
import { waitFor } from '../support/wait-for.ts';

const log = { warn: () => undefined };
/** Longer than a test: what is not its subject does not happen. */
const NEVER = 600_000;
const QUIET: LiveOptions['timings'] = { catchUp: NEVER, reread: NEVER };

let url: string;
let db: Database;
const hubs = new Set<LiveService>();

beforeAll(async () => {
  url = (await createTestDatabase()).url;
  db = patient(new Database(url, log));
});

afterEach(async () => {
  for (const hub of hubs) await hub.stop();
  hubs.clear();
});

afterAll(() => db.close());

/** As each process has one. */
async function openHub({ url: from = url, ...options }: Partial<LiveOptions> & { url?: string } = {}) {
  const listener = new Listener({ url: from, log, origin: db.origin });
  const service = createLive({ db, listener, log, ...options, timings: { ...QUIET, ...options.timings } });
  const hub = { ...service, stop: () => service.stop().then(() => listener.stop()) };
  // Present subscribers re-read everything when another process begins to listen:
  // that must not happen later, during a test.
  const greeted = [...hubs].map((other) => other.live.watch(watchOf({ jobIds: [id()] }), 100));
  hubs.add(hub);
  await listener.start();
  for (const subscription of greeted) {
    await subscription.next();
    await subscription.return();
  }
  return hub;
}

let ids = 0;
/** Twenty-four hex digits, as the database makes them. */
function id(): string {
  ids += 1;
  return ids.toString(16).padStart(24, '0');
}

const ACCOUNT = id();

function watchOf(watch: Partial<Watch>): Watch {
  return { accountId: ACCOUNT, queueIds: [], jobIds: [], actionIds: [], ...watch };
}

/** Records the changes that a subscriber receives. */
function follow(hub: LiveService, watch: Partial<Watch>, minIntervalMs = 100, signal?: AbortSignal) {
  const rounds: (Changes & { at: number })[] = [];
  const subscription = hub.live.watch(watchOf(watch), minIntervalMs, signal);
  const ended = (async () => {
    for await (const changes of subscription) rounds.push({ ...changes, at: performance.now() });
  })();
  const all = (pick: (changes: Changes) => ReadonlySet<string>) => new Set(rounds.flatMap((round) => [...pick(round)]));
  return {
    rounds,
    ended,
    end: () => subscription.return(),
    get queueIds() {
      return all((changes) => changes.queueIds);
    },
    get jobIds() {
      return all((changes) => changes.jobIds);
    },
    get actionIds() {
      return all((changes) => changes.actionIds);
    },
    get moreJobs() {
      return rounds.reduce((sum, round) => sum + round.moreJobs, 0);
    },
    async receives(what: string): Promise<void> {
      await waitFor(() => this.queueIds.has(what) || this.jobIds.has(what) || this.actionIds.has(what), {
        message: `news of ${what}`,
      });
    },
  };
}

/** Changes something again and again until the condition holds: for interests that are still on their way. */
async function changeUntil(hub: LiveService, change: object, condition: () => boolean): Promise<void> {
  await waitFor(
    () => {
      hub.changes.changed({ accountId: ACCOUNT, ...change });
      return condition();
    },
    { message: `news of ${JSON.stringify(change)}` },
  );
}

/** Counts the messages on a channel, as another listener. */
async function overhear(): Promise<{ messages: string[]; close(): Promise<void> }> {
  const client = new pg.Client({ connectionString: url });
  const messages: string[] = [];
  client.on('notification', ({ channel, payload }) => messages.push(`${channel} ${payload}`));
  await client.connect();
  await client.query('listen jobferry_watch; listen jobferry_change');
  return {
    messages,
    async close() {
      // Events that were sent before this have arrived when it is answered.
      await client.query('select 1');
      await client.end();
    },
  };
}

const kindOf = (work: () => unknown): ErrorKind | null => {
  try {
    work();
    return null;
  } catch (error) {
    return (error as JobferryError).kind;
  }
};

describe.each(['the same process', 'another process'])('a change in %s', (where) => {
  async function open() {
    const near = await openHub();
    return { near, far: where === 'the same process' ? near : await openHub() };
  }

  it('reaches the subscribers of its queue, its job or its action, and no others', async () => {
    const { near, far } = await open();
    const [queueId, jobId, actionId, otherQueue] = [id(), id(), id(), id()];
    const ofQueue = follow(near, { queueIds: [queueId] });
    const ofJob = follow(near, { jobIds: [jobId] });
    const ofAction = follow(near, { actionIds: [actionId] });
    const ofAll = follow(near, { allQueues: true });
    const others = follow(near, { queueIds: [otherQueue] });
    await changeUntil(far, { queueId: otherQueue }, () => others.queueIds.has(otherQueue));

    far.changes.changed({ accountId: ACCOUNT, queueId, jobId });
    far.changes.changed({ accountId: ACCOUNT, actionId });
    await Promise.all([
      ofQueue.receives(jobId),
      ofJob.receives(jobId),
      ofAction.receives(actionId),
      ofAll.receives(jobId),
    ]);
    expect([ofQueue.queueIds, ofQueue.jobIds]).toEqual([new Set([queueId]), new Set([jobId])]);
    expect([ofJob.queueIds, ofJob.jobIds]).toEqual([new Set(), new Set([jobId])]);
    expect([ofAction.jobIds, ofAction.actionIds]).toEqual([new Set(), new Set([actionId])]);
    expect(ofAll.queueIds).toEqual(new Set([otherQueue, queueId]));
    expect(others.queueIds).toEqual(new Set([otherQueue]));
  });

  it('a change of another account reaches no subscriber, whatever its ids are', async () => {
    const { near, far } = await open();
    const [queueId, jobId, actionId] = [id(), id(), id()];
    const watch = { queueIds: [queueId], jobIds: [jobId], actionIds: [actionId] };
    const mine = follow(near, watch);
    const mineAll = follow(near, { allQueues: true });
    const account = id();
    const theirs = follow(near, { accountId: account, ...watch });
    await changeUntil(far, { accountId: account, queueId, jobId, actionId }, () => theirs.jobIds.has(jobId));
    // Sent last, so all earlier messages have been received.
    const last = id();
    await changeUntil(far, { queueId: last }, () => mineAll.queueIds.has(last));
    expect([mine.rounds, mineAll.queueIds]).toEqual([[], new Set([last])]);
    expect([theirs.queueIds, theirs.actionIds]).toEqual([new Set([queueId]), new Set([actionId])]);
  });

  it('comes together with others: a burst is a few rounds, every job named or counted', async () => {
    const { near, far } = await open();
    const [queueId, first] = [id(), id()];
    const watched = Array.from({ length: 100 }, id);
    const ofQueue = follow(near, { queueIds: [queueId] });
    const ofJobs = follow(near, { jobIds: watched });
    await changeUntil(far, { queueId, jobId: first }, () => ofQueue.jobIds.has(first));
    const [one = ''] = watched;
    await changeUntil(far, { jobId: one }, () => ofJobs.jobIds.has(one));
    // The last of these calls may still be on its way. This one is sent after it, and so received after it.
    const last = id();
    far.changes.changed({ accountId: ACCOUNT, queueId, jobId: last });
    await waitFor(() => ofQueue.jobIds.has(last), { message: 'the last call' });
    ofQueue.rounds.length = 0;

    const jobIds = [...watched, ...Array.from({ length: 900 }, id)];
    for (let step = 0; step < 3; step += 1) {
      for (const jobId of jobIds) far.changes.changed({ accountId: ACCOUNT, queueId, jobId });
    }
    await waitFor(() => ofQueue.moreJobs + ofQueue.jobIds.size >= 1000, { message: 'all jobs' });
    await waitFor(() => ofJobs.jobIds.size === 100, { message: 'the watched jobs' });
    // One, unless the machine is so busy that the burst takes longer than a round.
    expect(ofQueue.rounds.length).toBeLessThan(10);
    for (const jobId of jobIds.slice(-NAMED_JOBS)) expect(ofQueue.jobIds).toContain(jobId);
    expect(ofJobs.jobIds).toEqual(new Set(watched));
    expect(ofJobs.moreJobs).toBe(0);
  });
});

describe('a subscriber', () => {
  it('receives changes no more often than it requested, and then all of them', async () => {
    const hub = await openHub();
    const queueId = id();
    const subscriber = follow(hub, { queueIds: [queueId] }, 600);
    const jobIds: string[] = [];
    await waitFor(() => {
      const jobId = id();
      if (jobIds.length < 200) {
        jobIds.push(jobId);
        hub.changes.changed({ accountId: ACCOUNT, queueId, jobId });
      }
      return subscriber.moreJobs + subscriber.jobIds.size >= 200;
    });
    const times = subscriber.rounds.map((round) => round.at);
    expect(times.length).toBeGreaterThan(1);
    for (const [n, at] of times.slice(1).entries()) expect(at - (times[n] ?? 0)).toBeGreaterThan(595);
    expect(subscriber.moreJobs + subscriber.jobIds.size).toBe(200);
    expect(subscriber.jobIds).toContain(jobIds.at(-1));
  });

  it('a subscriber to many busy queues receives the last few jobs of each, and never too many', async () => {
    const hub = await openHub();
    const queues = Array.from({ length: 10 }, id);
    const subscriber = follow(hub, { queueIds: queues });
    const jobIds = queues.flatMap((queueId) =>
      Array.from({ length: 2 * NAMED_JOBS }, () => {
        const jobId = id();
        hub.changes.changed({ accountId: ACCOUNT, queueId, jobId });
        return jobId;
      }),
    );
    await waitFor(() => subscriber.rounds.length > 0, { message: 'a round' });
    expect(subscriber.queueIds).toEqual(new Set(queues));
    expect(subscriber.jobIds.size).toBe(100);
    expect(subscriber.moreJobs).toBe(jobIds.length - 100);
    // The last queue's last ones are the newest of all.
    for (const jobId of jobIds.slice(-NAMED_JOBS)) expect(subscriber.jobIds).toContain(jobId);
  });

  it('a slow subscriber finds everything since it last looked', async () => {
    const hub = await openHub();
    const [queueId, jobId, later] = [id(), id(), id()];
    const fast = follow(hub, { queueIds: [queueId] });
    const slow = hub.live.watch(watchOf({ queueIds: [queueId] }), 100);
    hub.changes.changed({ accountId: ACCOUNT, queueId, jobId });
    await fast.receives(jobId);
    hub.changes.changed({ accountId: ACCOUNT, queueId, jobId: later });
    await fast.receives(later);
    expect((await slow.next()).value).toMatchObject({ jobIds: new Set([jobId, later]), moreJobs: 0 });
    await slow.return();
  });

  it('sees all that it watches a moment after it has begun, and then repeatedly, also while something changes', async () => {
    const hub = await openHub({ timings: { catchUp: 300, reread: 1000, announce: 100 } });
    const [busy, still] = [id(), id()];
    const watch = { queueIds: [id()], jobIds: [busy, still], actionIds: [id()] };
    const subscriber = follow(hub, watch);
    const rereads = () => subscriber.rounds.filter(({ jobIds }) => jobIds.has(still));
    await changeUntil(hub, { jobId: busy }, () => rereads().length >= 3);
    const everything = {
      queueIds: new Set(watch.queueIds),
      jobIds: new Set(watch.jobIds),
      actionIds: new Set(watch.actionIds),
    };
    expect(rereads().slice(0, 3)).toMatchObject([everything, everything, everything]);
    expect(subscriber.rounds.length).toBeGreaterThan(3);
  });

  it.each([
    ['returns', (end: () => Promise<unknown>) => end()],
    ['is aborted', (_end: unknown, abort: () => void) => abort()],
    ['throws', (_end: unknown, _abort: unknown, fail: () => Promise<unknown>) => fail().catch(() => undefined)],
  ] as const)('a subscriber that %s, waiting or before it ever looked, leaves nothing behind', async (_how, finish) => {
    const hub = await openHub();
    for (const waits of [true, false]) {
      // So many at once are all that the account may have: one that stays makes the last one fail.
      const subscriptions = Array.from({ length: 100 }, () => {
        const abort = new AbortController();
        const subscription = hub.live.watch(watchOf({ queueIds: [id()] }), 100, abort.signal);
        return Object.assign(subscription, { abort: () => abort.abort() });
      });
      expect(kindOf(() => hub.live.watch(watchOf({}), 100))).toBe('unavailable');
      const waiting = waits ? subscriptions.map((subscription) => subscription.next()) : [];
      for (const subscription of subscriptions) {
        const end = () => subscription.return();
        const fail = () => subscription.throw(new Error('consumer'));
        await finish(end, subscription.abort, fail);
      }
      for (const next of waiting) expect(await next).toEqual({ value: undefined, done: true });
    }
    await hub.live.watch(watchOf({}), 100, AbortSignal.abort()).next();
    const other = await overhear();
    const queueId = id();
    hub.changes.changed({ accountId: ACCOUNT, queueId });
    await other.close();
    // Announcements of the subscriptions while they were open may come late.
    expect(other.messages.filter((message) => message.includes(queueId))).toEqual([]);
  });

  it('is refused beyond the bounds, and at the end of the service', async () => {
    const hub = await openHub();
    const tooMany = Array.from({ length: 101 }, id);
    for (const kind of ['queueIds', 'jobIds', 'actionIds']) {
      expect(kindOf(() => hub.live.watch(watchOf({ [kind]: tooMany }), 100))).toBe('invalid_request');
    }
    for (let account = 0; account < 5; account += 1) {
      const accountId = id();
      for (let n = 0; n < 100; n += 1) hub.live.watch(watchOf({ accountId, queueIds: [id()] }), 100);
    }
    expect(kindOf(() => hub.live.watch(watchOf({ accountId: id() }), 100))).toBe('unavailable');
    hub.endSubscriptions();
    expect(kindOf(() => hub.live.watch(watchOf({}), 100))).toBe('unavailable');
  });

  it('ends with the service, after its last changes were sent to other processes', async () => {
    const [near, far] = [await openHub(), await openHub()];
    const [queueId, jobId] = [id(), id()];
    const ofFar = follow(far, { queueIds: [queueId] });
    const ofNear = follow(near, { queueIds: [queueId] });
    await changeUntil(near, { queueId }, () => ofFar.queueIds.has(queueId));
    near.changes.changed({ accountId: ACCOUNT, queueId, jobId });
    await near.stop();
    await ofNear.ended;
    await ofFar.receives(jobId);
  });
});

describe('the database', () => {
  it('receives nothing at all while no process has a subscriber', async () => {
    const hub = await openHub({ timings: { announce: 50, round: 20 } });
    const other = await overhear();
    for (let n = 0; n < 100; n += 1) hub.changes.changed({ accountId: ACCOUNT, queueId: id(), jobId: id() });
    // Stopping sends the remaining changes.
    await hub.stop();
    await notify(db, 'jobferry_change', ['last']);
    await waitFor(() => other.messages.length > 0, { message: 'the last message' });
    await other.close();
    expect(other.messages).toEqual(['jobferry_change last']);
  });

  it('receives nothing about ids that are watched in the same process only, or not at all', async () => {
    const [near, far] = [await openHub(), await openHub()];
    const other = await overhear();
    const [queueId, jobId] = [id(), id()];
    const subscriber = follow(near, { queueIds: [queueId] });
    await waitFor(() => other.messages.some((message) => message.includes(queueId)), { message: 'the interest' });
    near.changes.changed({ accountId: ACCOUNT, queueId, jobId });
    far.changes.changed({ accountId: ACCOUNT, queueId: id(), jobId: id() });
    await subscriber.receives(jobId);
    await near.stop();
    await far.stop();
    await other.close();
    expect(other.messages.filter((message) => message.startsWith('jobferry_change'))).toEqual([]);
    expect(other.messages.filter((message) => message.includes(queueId))).toHaveLength(1);
  });

  it('carries messages within its limit, however much is watched and changes', async () => {
    const [near, far] = [await openHub(), await openHub()];
    const other = await overhear();
    const queues = Array.from({ length: 300 }, id);
    const subscribers = [0, 100, 200].map((n) => follow(near, { queueIds: queues.slice(n, n + 100) }));
    await changeUntil(far, { queueId: queues[299] }, () => subscribers[2]?.queueIds.has(queues[299] ?? '') === true);
    const jobIds = queues.flatMap((queueId) => {
      const jobId = id();
      far.changes.changed({ accountId: ACCOUNT, queueId, jobId });
      return [jobId];
    });
    await waitFor(() => subscribers.every(({ queueIds }) => queueIds.size === 100), { message: 'all queues' });
    expect(new Set(subscribers.flatMap((subscriber) => [...subscriber.jobIds]))).toEqual(new Set(jobIds));
    await other.close();
    const messages = other.messages.filter((message) => message.startsWith('jobferry_change'));
    expect(messages.length).toBeGreaterThan(2);
    for (const message of messages) expect(message.length).toBeLessThan(8000);
  });

  it('may carry anything: unknown messages are skipped', async () => {
    const hub = await openHub();
    const queueId = id();
    const subscriber = follow(hub, { queueIds: [queueId] });
    const strange = ['', '{', '{}', '[]', '[1]', '["x",1,null,[],["queue"],["queue",1,2,3],["job",{}],["id",7]]'];
    await notify(db, 'jobferry_watch', strange);
    await notify(db, 'jobferry_change', strange);
    await notify(db, 'jobferry_change', [JSON.stringify(['x', ['queue', ACCOUNT, queueId, 1, 'job', 5]])]);
    await subscriber.receives(queueId);
    expect(subscriber.rounds).toMatchObject([{ jobIds: new Set(['job']), moreJobs: 1 }]);
  });

  it('may lose connections: subscribers read everything again, and go on', async () => {
    const [near, far] = [await openHub(), await openHub()];
    const watch = { queueIds: [id()], jobIds: [id()], actionIds: [id()] };
    const subscriber = follow(near, watch);
    const ofAll = follow(near, { allQueues: true });
    await changeUntil(far, { jobId: watch.jobIds[0] }, () => subscriber.rounds.length > 0);
    subscriber.rounds.length = 0;
    await db.query(`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()`);
    await waitFor(() => subscriber.queueIds.size > 0, { message: 'a round of everything' });
    expect(subscriber.queueIds).toEqual(new Set(watch.queueIds));
    expect(subscriber.actionIds).toEqual(new Set(watch.actionIds));
    await waitFor(() => ofAll.rounds.some((round) => round.allQueues === true), { message: 'all queues' });
    const jobId = id();
    await changeUntil(far, { queueId: watch.queueIds[0], jobId }, () => subscriber.jobIds.has(jobId));
  });

  it('may be away for a while', async () => {
    const { relay, url: relayed } = await relayDatabase(url);
    const relayedDb = new Database(relayed, log);
    try {
      const near = await openHub({ url: relayed, db: relayedDb, timings: { retry: 100 } });
      const far = await openHub();
      const [queueId, during] = [id(), id()];
      const subscriber = follow(far, { queueIds: [queueId] });
      await changeUntil(near, { queueId }, () => subscriber.queueIds.has(queueId));
      await relay.cut();
      near.changes.changed({ accountId: ACCOUNT, queueId, jobId: during });
      subscriber.rounds.length = 0;
      await relay.heal();
      // The changes that could not be sent are not lost: the other process re-reads everything.
      await subscriber.receives(queueId);
      const after = id();
      await changeUntil(near, { queueId, jobId: after }, () => subscriber.jobIds.has(after));
    } finally {
      for (const hub of hubs) await hub.stop();
      await relayedDb.close();
    }
  });
});

describe('interests of other processes', () => {
  it('are known to a process that comes later', async () => {
    const near = await openHub({ timings: { announce: NEVER } });
    const queueId = id();
    const subscriber = follow(near, { queueIds: [queueId] });
    const late = await openHub();
    // Having come, it may have changed something before it knew.
    await subscriber.receives(queueId);
    const jobId = id();
    await changeUntil(late, { queueId, jobId }, () => subscriber.jobIds.has(jobId));
  });

  it('last as long as a subscriber watches, and expire when the process dies', async () => {
    const far = await openHub({ timings: { announce: 100, interestLife: 1000 } });
    const living = await openHub({ timings: { announce: 100 } });
    const [watched, orphan] = [id(), id()];
    follow(living, { queueIds: [watched] });
    /** Whether a change of the orphan is sent, until a later one of the watched queue is: its interest lasts. */
    const isOrphanWatched = async () => {
      const other = await overhear();
      const has = (text: string) =>
        other.messages.some((message) => message.startsWith('jobferry_change') && message.includes(text));
      far.changes.changed({ accountId: ACCOUNT, queueId: orphan, jobId: id() });
      const later = id();
      await changeUntil(far, { queueId: watched, jobId: later }, () => has(later));
      await other.close();
      return has(orphan);
    };
    // Only the last announcement of a killed process is left.
    const announced = async () => {
      await notify(db, 'jobferry_watch', [JSON.stringify(['killed', ['id', orphan]])]);
      return isOrphanWatched();
    };
    await waitFor(announced, { message: 'the interest' });
    await waitFor(async () => !(await isOrphanWatched()), { message: 'the end of the interest' });
  });
});
