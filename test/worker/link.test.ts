import { connect } from 'node:tls';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Database } from '../../src/db/connection/database.ts';
import type { ClaimRow } from '../../src/db/delivery/claim.ts';
import type { NewClaim } from '../../src/db/delivery/claim-new.ts';
import { publishAndClaim } from '../../src/db/delivery/publish.ts';
import { NO_CHANGES } from '../../src/live/live.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { LinkClient } from '../../src/worker/link/client.ts';
import { type LinkAddress, TLS } from '../../src/worker/link/messages.ts';
import { LinkServer } from '../../src/worker/link/server.ts';
import { Strays } from '../../src/worker/link/strays.ts';
import { elapsedMs, type Moment, thisMoment } from '../../src/worker/moment.ts';
import { claimedRow } from '../support/claimed-row.ts';
import { LEASE_MS, openFixture, PERIODS } from '../support/database-fixture.ts';
import { waitFor } from '../support/wait-for.ts';

/** An API process hands jobs over to the worker of another one (docs/decisions/0063). */

const quietLog = createLog({ level: 'silent' });

function claimOf(...rows: object[]): NewClaim {
  return { now: 5, rows: rows as ClaimRow[], full: [] };
}

async function openLink({
  freeSlots = 1000,
  mayDeliver = (_id: string): boolean => true,
  mayClaim = (): boolean => true,
} = {}) {
  const arrived: { claim: NewClaim; startedAt: Moment }[] = [];
  let lost = 0;
  const server = await LinkServer.start('127.0.0.1', 0, {
    workerId: 7,
    leaseMs: LEASE_MS,
    log: quietLog,
    mayClaim,
    freeSlots: () => freeSlots,
    mayDeliver,
    adopt: (claim, startedAt) => void arrived.push({ claim, startedAt }),
    onUnsure: () => {
      lost += 1;
    },
  });
  if (server === null) throw new Error('the port is not open');
  onTestFinished(() => server.stop());
  const open = (address: LinkAddress = server.address) => {
    let ended = false;
    const client = new LinkClient(address, () => {
      ended = true;
    });
    onTestFinished(() => client.close());
    return { client, hasEnded: () => ended };
  };
  return { server, arrived, lost: () => lost, open };
}

async function reserved({ client }: { client: LinkClient }, jobs = 1, bytes = 2): Promise<number> {
  await waitFor(() => client.reserve(jobs, bytes), { message: 'a grant' });
  return client.permit;
}

describe('a link', () => {
  it('brings jobs as they are stored, with a moment before their claim', async () => {
    const link = await openLink();
    const own = link.open();
    const permit = await reserved(own);
    const before = thisMoment();
    const row = { ...claimedRow('q', 'a', 1), claimed_at: new Date(4), payload: '{"é\\n":1e400}\n' };
    own.client.end({ jobs: 1, bytes: 2 }, permit, claimOf(row));
    const { claim, startedAt } = await waitFor(() => link.arrived[0]);
    expect(claim).toEqual(claimOf(row));
    expect(startedAt.monotonic).toBeLessThanOrEqual(before.monotonic);
    expect(elapsedMs(startedAt)).toBeLessThan(60_000);
  });

  it('has room for what the worker grants, and again when jobs have arrived or were not claimed', async () => {
    const link = await openLink({ freeSlots: 40 });
    const own = link.open();
    const permit = await reserved(own, 10);
    expect(own.client.reserve(1, 2)).toBe(false);
    own.client.end({ jobs: 10, bytes: 2 }, permit, null);
    expect(own.client.reserve(10, 2)).toBe(true);
    own.client.end({ jobs: 10, bytes: 2 }, permit, claimOf({ ...claimedRow('q', 'a', 1), claimed_at: new Date(4) }));
    own.client.end({ jobs: 10, bytes: 2 }, await reserved(own, 10), null);
  });

  it('knows the moment of a permit for as long as a publish may take, however many grants follow', async () => {
    const link = await openLink();
    const own = link.open();
    await waitFor(() => own.client.permit >= 2, { message: 'a permit that is not the first' });
    const permit = await reserved(own);
    const row = { ...claimedRow('q', 'a', 1), claimed_at: new Date(4) };
    for (let n = 1; n <= 20; n += 1) {
      const many = Array.from({ length: 40 }, () => row);
      own.client.end({ jobs: 40, bytes: 80 }, await reserved(own, 40, 80), claimOf(...many));
      await waitFor(() => link.arrived.length === n);
    }
    own.client.end({ jobs: 1, bytes: 2 }, permit, claimOf(row));
    await reserved(own);
    own.client.end({ jobs: 1, bytes: 2 }, 0, claimOf(row));
    const [late, first] = await waitFor(() => link.arrived.length === 22 && link.arrived.slice(-2));
    expect(late?.startedAt.monotonic).toBeGreaterThan(first?.startedAt.monotonic ?? 0);
  });

  it('grants nothing to an API while the worker may not claim', async () => {
    let may = false;
    const link = await openLink({ mayClaim: () => may });
    const own = link.open();
    await waitFor(() => !own.hasEnded());
    expect(own.client.reserve(1, 2)).toBe(false);
    may = true;
    await waitFor(() => {
      link.server.resume();
      return own.client.reserve(1, 2);
    });
    own.client.end({ jobs: 1, bytes: 2 }, own.client.permit, null);
  });

  it('leaves a queue to claims after the worker has refused it', async () => {
    const link = await openLink({ mayDeliver: (queueId) => queueId !== 'elsewhere' });
    const own = link.open();
    const permit = await reserved(own);
    const row = { ...claimedRow('elsewhere', 'a', 1), claimed_at: new Date(4) };
    own.client.end({ jobs: 1, bytes: 2 }, permit, claimOf(row));
    await waitFor(() => !own.client.takes('elsewhere'));
    expect(own.client.takes('another')).toBe(true);
  });

  it('ends after the last reservation when the worker stops, and nothing counts as lost', async () => {
    const link = await openLink();
    const own = link.open();
    const permit = await reserved(own);
    const stopped = link.server.stop();
    await waitFor(() => !own.client.isOpen, { message: 'the end that the worker announces' });
    expect(own.client.reserve(1, 2)).toBe(false);
    own.client.end({ jobs: 1, bytes: 2 }, permit, claimOf({ ...claimedRow('q', 'a', 1), claimed_at: new Date(4) }));
    await stopped;
    expect([link.arrived.length, link.lost()]).toEqual([1, 0]);
    await waitFor(own.hasEnded);
  });

  it('counts as lost when it ends without a word', async () => {
    const link = await openLink();
    const { address } = link.server;
    const socket = connect({
      ...TLS,
      port: address.port,
      host: '127.0.0.1',
      pskCallback: () => ({ identity: 'jobferry', psk: Buffer.from(address.key, 'base64') }),
      checkServerIdentity: () => undefined,
    } as never);
    await new Promise((resolve) => socket.once('data', resolve));
    socket.destroy();
    await waitFor(() => link.lost() === 1);
  });

  it('is not made without the key, with a wrong address before the right one, or with another program', async () => {
    const link = await openLink();
    const { address } = link.server;
    const stranger = link.open({ ...address, key: Buffer.alloc(32).toString('base64') });
    await waitFor(stranger.hasEnded);
    const own = link.open({ ...address, hosts: ['127.0.0.2', '127.0.0.1'] });
    own.client.end({ jobs: 1, bytes: 2 }, await reserved(own), null);
  });
});

it('claims that did not arrive are given back once, and their jobs are not taken when they arrive after all', async () => {
  const { db, accountId, createQueue } = await openFixture();
  const queue = await createQueue();
  const item = { accountId, queue: queue.name, payload: '{}', key: null, delayMs: 0, limit: null, claimable: true };
  const queues = [{ queueId: queue.id, jobs: 2, since: null }];
  const claimed = await publishAndClaim(db, [{ ...item }, { ...item }], PERIODS, {
    workerId: 7,
    leaseMs: LEASE_MS,
    queues,
  });
  const [first, second] = (claimed.claim?.rows ?? []).map(({ id, claim_token: token }) => ({
    id,
    token: String(token),
  }));
  if (first === undefined || second === undefined) throw new Error('two jobs are claimed');
  await db.query(`update job set claimed_at = claimed_at - interval '2 s'`);
  const woken: string[] = [];
  const strays = new Strays({
    db,
    log: quietLog,
    changes: NO_CHANGES,
    workerId: 7,
    leaseMs: LEASE_MS,
    ids: () => new Set([first.id]),
    wake: (queueId) => void woken.push(queueId),
  });
  await strays.look();
  await strays.look();
  expect(woken).toEqual([queue.id]);
  expect([strays.wasReturned(first), strays.wasReturned(second)]).toEqual([false, true]);
  const rows = await db.query<{ id: string }>(`select id from job where status = 'pending' and attempts = 0`);
  expect(rows).toEqual([{ id: second.id }]);
});

it('publishes that fail again and again are followed by one look in 1.5 s, and a last one', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  let looks = 0;
  const query = async () => {
    looks += 1;
    return [];
  };
  const strays = new Strays({
    db: { query } as unknown as Database,
    log: quietLog,
    changes: NO_CHANGES,
    workerId: 7,
    leaseMs: LEASE_MS,
    ids: () => new Set(),
    wake: () => undefined,
  });
  for (let n = 0; n < 90; n += 1) {
    strays.expect();
    await vi.advanceTimersByTimeAsync(30);
  }
  expect(looks).toBe(1);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(looks).toBe(3);
});
