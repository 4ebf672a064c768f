import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Database } from '../../src/db/connection/database.ts';
import { Listener } from '../../src/db/connection/notifications.ts';
import { startEmbedded } from '../../src/db/embedded/server.ts';
import { createLive, type LiveService } from '../../src/live/hub.ts';
import type { Changes } from '../../src/live/live.ts';
import { type Cluster, startProcesses } from '../support/cluster.ts';
import { patient } from '../support/database-fixture.ts';
import { hasGivenServer } from '../support/given-server.ts';
import type { Jobferry } from '../support/process.ts';
import { createGate, openReceiver } from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';

const log = { info: () => undefined, warn: () => undefined };

const closing: (() => Promise<void>)[] = [];

// The newest first: servers go after those who are connected to them.
afterAll(async () => {
  for (const close of closing.toReversed()) await close();
});

/** A process of its own among those of the cluster, which only watches. */
async function openWatcher(url: string): Promise<LiveService> {
  const db = patient(new Database(url, log));
  const listener = new Listener({ url, log, origin: db.origin });
  // A subscriber receives changes here, and not the results of its regular re-reading.
  const watcher = createLive({ db, listener, log, timings: { catchUp: 200, reread: 600_000 } });
  await listener.start();
  closing.push(async () => {
    await watcher.stop();
    await listener.stop();
    await db.close();
  });
  return watcher;
}

describe('a subscriber of another process', () => {
  let cluster: Cluster<Jobferry>;
  let watcher: LiveService;
  let accountId: string;

  beforeAll(async () => {
    cluster = await startProcesses({ workers: 2 });
    watcher = await openWatcher(cluster.databaseUrl);
    const [account] = await cluster.query<{ id: string }>('select id from account');
    accountId = account?.id ?? '';
  });

  /** The job as a page shows it: its state is read after each event about it, and at no other time. */
  async function follow(queueId: string) {
    const seen = new Map<string, string[]>();
    let caughtUp = false;
    const subscription = watcher.live.watch({ accountId, queueIds: [queueId], jobIds: [], actionIds: [] }, 100);
    const read = async ({ jobIds }: Changes) => {
      const rows = await cluster.query<{ id: string; status: string }>(
        'select id, status::text from job where id = any ($1) and queue_id = $2',
        [[...jobIds], queueId],
      );
      for (const { id, status } of rows) {
        const states = seen.get(id) ?? [];
        if (states.at(-1) !== status) seen.set(id, [...states, status]);
      }
    };
    void (async () => {
      for await (const changes of subscription) {
        await read(changes);
        caughtUp = true;
      }
    })();
    await waitFor(() => caughtUp, { message: 'the first look' });
    return {
      seen,
      hasSeen: (jobId: string, status: string) =>
        waitFor(() => seen.get(jobId)?.includes(status), { message: `${status} of ${jobId}` }),
      end: () => subscription.return(),
    };
  }

  it('sees a job being published, claimed, settled and reported on', async () => {
    const gate = createGate();
    const receiver = await openReceiver(async () => {
      await gate.opened;
      return {};
    });
    const queue = await cluster.api.createQueue({ webhookUrl: receiver.url, mode: 'ack', ackTimeout: 300 });
    const page = await follow(queue.id);
    // Other processes are told of the page some time after its first look, much later on a busy machine.
    const waiting = await waitFor(
      async () => {
        const { id } = await cluster.api.publish(queue.name, { payload: {}, delay: 3600 });
        const isSeen = await waitFor(() => page.seen.has(id), { timeoutMs: 2000 }).catch(() => false);
        return isSeen && id;
      },
      { message: 'a published job to be seen' },
    );
    const job = await cluster.api.publish(queue.name);
    await page.hasSeen(job.id, 'processing');
    gate.open();
    await page.hasSeen(job.id, 'awaiting_ack');
    await cluster.api.call('POST', `/v1/jobs/${job.id}/ack`);
    await page.hasSeen(job.id, 'completed');
    await cluster.api.call('DELETE', `/v1/queues/${queue.id}`);
    await page.hasSeen(waiting, 'dead');
    await page.end();
  });

  it('sees changes that no client made', async () => {
    const receiver = await openReceiver();
    const queue = await cluster.api.createQueue({
      webhookUrl: receiver.url,
      mode: 'ack',
      ackTimeout: 1,
      ackTimeoutAction: 'dead',
    });
    const page = await follow(queue.id);
    const silent = await cluster.api.publish(queue.name);
    await page.hasSeen(silent.id, 'dead');

    await page.end();
  });

  it('sees that a killed worker’s job was taken back', async () => {
    const gate = createGate();
    const receiver = await openReceiver(async () => {
      await gate.opened;
      return {};
    });
    // One delivery an hour: taken back, the job stays pending.
    const settings = { rateLimitMax: 1, rateLimitWindow: 3600 };
    const queue = await cluster.api.createQueue({ webhookUrl: receiver.url, ...settings });
    const page = await follow(queue.id);
    const job = await cluster.api.publish(queue.name);
    await page.hasSeen(job.id, 'processing');
    const owner = await cluster.workerOf(job.id);
    page.seen.delete(job.id);
    await owner.kill('SIGKILL');
    await page.hasSeen(job.id, 'pending');
    gate.open();
    await page.end();
  });
});

it.skipIf(hasGivenServer)('goes on after a restart of the database server', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'jobferry-live-'));
  const embedded = await startEmbedded({ dataDir, log });
  closing.push(async () => {
    await embedded.stop();
    await rm(dataDir, { recursive: true });
  });
  const [near, far] = [await openWatcher(embedded.url), await openWatcher(embedded.url)];
  const [accountId, queueId] = ['a'.repeat(24), 'b'.repeat(24)];
  const rounds: Changes[] = [];
  const subscription = near.live.watch({ accountId, queueIds: [queueId], jobIds: [], actionIds: [] }, 100);
  void (async () => {
    for await (const changes of subscription) rounds.push(changes);
  })();
  const hearsOf = (jobId: string) =>
    waitFor(
      () => {
        far.changes.changed({ accountId, queueId, jobId });
        return rounds.some(({ jobIds }) => jobIds.has(jobId));
      },
      { message: `news of ${jobId}` },
    );
  // The catch-up of the start, before any change: together with one it could not be told from it.
  await waitFor(() => rounds.length > 0, { message: 'a first look' });
  await hearsOf('1'.repeat(24));

  rounds.length = 0;
  const [pid] = (await readFile(join(dataDir, 'postgres/postmaster.pid'), 'utf8')).split('\n');
  process.kill(Number(pid), 'SIGINT');
  await waitFor(() => rounds.length > 0, { message: 'a look at everything' });
  expect(rounds[0]?.queueIds).toEqual(new Set([queueId]));
  await hearsOf('2'.repeat(24));
});
