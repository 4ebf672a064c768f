import { afterEach, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { Database } from '../../src/db/connection/database.ts';
import { Listener } from '../../src/db/connection/notifications.ts';
import { OriginGuard } from '../../src/db/connection/origin.ts';
import { notifyDead } from '../../src/db/delivery/lease-locks.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { Liveness } from '../../src/worker/lease/liveness.ts';
import { createTestDatabase } from '../support/database.ts';
import { relayDatabase } from '../support/tcp-relay.ts';
import { waitFor } from '../support/wait-for.ts';

let url: string;

beforeAll(async () => {
  url = (await createTestDatabase()).url;
});

afterEach(() => vi.restoreAllMocks());

async function start(options: { url?: string; isResting?: () => boolean } = {}) {
  const said: { msg: string; reason?: string }[] = [];
  const log = createLog({ level: 'fatal' });
  const note = (fields: object, msg: string) => void said.push({ ...fields, msg });
  log.warn = note as typeof log.warn;
  log.info = note as typeof log.info;
  const calls: string[] = [];
  // It has seen nothing yet, and so accepts every server.
  const origin = new OriginGuard(log);
  const listener = new Listener({ url, log, origin });
  const liveness = await Liveness.start({
    url: options.url ?? url,
    log,
    origin,
    listener,
    onConfirmedAgain: () => void calls.push('claims again'),
    isResting: options.isResting ?? (() => false),
  });
  await listener.start();
  onTestFinished(() => Promise.all([liveness.stop(), listener.stop()]).then(() => undefined));
  const renewed = () => waitFor(() => said.some(({ msg }) => msg === 'lease lock held again'), { message: 'renewal' });
  const reasons = () => said.flatMap(({ msg, reason }) => (msg.startsWith('lease lock lost') ? [reason] : []));
  return { liveness, said, calls, renewed, reasons };
}

async function open(): Promise<Database> {
  const db = new Database(url, { warn: () => undefined });
  onTestFinished(() => db.close());
  return db;
}

/** When its last confirmation was; undefined if none is stored. */
const noted = async (db: Database, id: number) =>
  (await db.one<{ at: string }>('select confirmed_at::text as at from lease_confirmation where worker_id = $1', [id]))
    ?.at;

const holders = (db: Database, id: number) =>
  db.query<{ mode: string }>(
    `select mode from pg_locks l join pg_database d on d.oid = l.database
      where locktype = 'advisory' and classid = 27238 and objid = $1 and d.datname = current_database()`,
    [id],
  );

describe('a worker', () => {
  it('has a number of its own, and one shared lock on it', async () => {
    const [one, other] = [await start(), await start()];
    expect(one.liveness.workerId).not.toBe(other.liveness.workerId);
    expect(await holders(await open(), one.liveness.workerId)).toEqual([{ mode: 'ShareLock' }]);
    await waitFor(() => one.liveness.confirmed, { message: 'a confirmation' });
    expect(one.liveness.problem).toBeNull();
  });

  it('skips a number that another process has, as a sequence may give it after a failover', async () => {
    const db = await open();
    const first = await start();
    await db.query(`select setval('jobferry_worker_id_seq', $1, false)`, [first.liveness.workerId]);
    expect((await start()).liveness.workerId).toBe(first.liveness.workerId + 1);
  });

  it('a worker whose claims were taken back stops, renews its lock, and logs that', async () => {
    const db = await open();
    const { liveness, reasons, renewed, calls } = await start();
    // A busy machine may be late with a confirmation.
    const covered = async () => {
      const at = performance.now();
      return (await liveness.covers(at)) && liveness.stillHolds(at) && at;
    };
    const claimedAt = await waitFor(covered, { message: 'a claim that the lock covers' });
    await notifyDead(db, [liveness.workerId + 1000]);
    await notifyDead(db, [liveness.workerId + 1000, liveness.workerId]);
    await renewed();
    expect(reasons()).toEqual(['another worker has taken back our claims']);
    expect(await liveness.covers(claimedAt)).toBe(false); // other workers may have the earlier claims
    expect(liveness.stillHolds(claimedAt)).toBe(false);
    await waitFor(covered, { message: 'a claim that the new lock covers' });
    expect(calls).toEqual(['claims again']);
    expect(await holders(db, liveness.workerId)).toHaveLength(1);
  });

  it('a worker with a refused outcome renews its lock once for its earlier claims', async () => {
    const { liveness, reasons, renewed } = await start();
    const claimedAt = performance.now();
    liveness.wasRefused(claimedAt);
    expect(liveness.confirmed).toBe(false);
    await renewed();
    liveness.wasRefused(claimedAt);
    await waitFor(() => liveness.confirmed, { message: 'a confirmation' });
    expect(reasons()).toEqual(['an outcome was refused, so our claims were taken back']);
  });

  it('a worker without a lock at the server of its claims renews it, but not for an earlier poll', async () => {
    const before = performance.now();
    const { liveness, reasons, renewed } = await start();
    liveness.wasNotSeen(before);
    expect(reasons()).toEqual([]);
    liveness.wasNotSeen(performance.now());
    expect(liveness.confirmed).toBe(false);
    await renewed();
    expect(reasons()).toEqual(['the server that claims go to does not have it']);
  });

  it('notes each confirmation, and claims nothing while the server can confirm its lock but not write', async () => {
    const db = await open();
    const { liveness, said, calls, reasons } = await start();
    const first = await noted(db, liveness.workerId);
    await waitFor(async () => (await noted(db, liveness.workerId)) !== first, { message: 'another confirmation' });
    // As on a read-only server, whose locks are as those of any other.
    await db.query('alter table lease_confirmation rename to away');
    onTestFinished(() => db.query('alter table if exists away rename to lease_confirmation').then(() => undefined));
    const claimedAt = performance.now();
    await waitFor(() => !liveness.confirmed, { message: 'the end of its belief' });
    expect(liveness.stillHolds(claimedAt)).toBe(true); // no worker takes back claims already
    await waitFor(() => !liveness.stillHolds(claimedAt), { message: 'the moment from which others may' });
    expect(liveness.problem).toBe('relation "lease_confirmation" does not exist');
    await db.query('alter table away rename to lease_confirmation');
    await waitFor(() => liveness.confirmed, { message: 'a confirmation' });
    expect(calls).toEqual(['claims again']);
    expect(reasons()).toEqual([]); // the lock was there all the time
    expect(said.filter(({ msg }) => msg.includes('cannot be confirmed'))).toHaveLength(1);
    expect(await holders(db, liveness.workerId)).toHaveLength(1);
  });

  it('stores no confirmation while it rests, and claims when it is woken and the server has confirmed its lock', async () => {
    const db = await open();
    let isResting = false;
    const { liveness, calls, reasons } = await start({ isResting: () => isResting });
    const isNoted = async () => (await noted(db, liveness.workerId)) !== undefined;
    const wakeUp = () => {
      isResting = false;
      liveness.wakeUp();
    };
    const rest = async () => {
      isResting = true;
      await waitFor(async () => !(await isNoted()), { message: 'the end of the stored confirmation' });
      await waitFor(() => !liveness.confirmed, { message: 'the end of the last confirmation' });
      expect(liveness.problem).toBeNull();
    };
    await rest();
    wakeUp();
    expect(liveness.problem).toBeNull();
    await waitFor(() => calls.length > 0, { message: 'a confirmation' });
    expect(await isNoted()).toBe(true);

    await rest();
    // As on a read-only server.
    await db.query('alter table lease_confirmation rename to away');
    onTestFinished(() => db.query('alter table if exists away rename to lease_confirmation').then(() => undefined));
    wakeUp();
    const problem = 'relation "lease_confirmation" does not exist';
    await waitFor(() => liveness.problem === problem, { message: 'the refusal' });
    expect(liveness.confirmed).toBe(false);
    await db.query('alter table away rename to lease_confirmation');
    await waitFor(() => liveness.confirmed, { message: 'a confirmation' });
    expect(reasons()).toEqual([]); // the lock was there all the time
  });

  it('keeps its lock and its session while the table of confirmations is locked', async () => {
    const db = await open();
    const { liveness, reasons } = await start();
    const client = await db.pool.connect();
    await client.query('begin; lock table lease_confirmation in share mode');
    try {
      await waitFor(() => !liveness.confirmed, { message: 'the end of its belief' });
      expect(liveness.problem).toBe('canceling statement due to lock timeout');
      expect(await holders(db, liveness.workerId)).toHaveLength(1);
    } finally {
      await client.query('rollback');
      client.release();
    }
    await waitFor(() => liveness.confirmed, { message: 'a confirmation' });
    expect(reasons()).toEqual([]);
  });

  it('gives others time to take their locks again after it had to take its own', async () => {
    const { liveness, renewed } = await start();
    expect(liveness.recoveringUntil).toBeLessThan(performance.now() + 1601);
    const doubtedAt = performance.now();
    liveness.doubt('a test says so');
    await renewed();
    expect(liveness.recoveringUntil).toBeGreaterThan(doubtedAt + 5000);
  });

  it('a worker on a suspended machine claims nothing until the server has confirmed its lock again', async () => {
    const { liveness, calls } = await start();
    const now = Date.now.bind(Date);
    vi.spyOn(Date, 'now').mockImplementation(() => now() + 3_600_000);
    expect(liveness).toMatchObject({ confirmed: false, problem: 'the server does not answer' });
    await waitFor(() => liveness.confirmed, { message: 'an answer' });
    expect(calls).toEqual(['claims again']);
  });

  it('can stop although the server does not answer', async () => {
    const relayed = await relayDatabase(url);
    const { liveness } = await start({ url: relayed.url });
    relayed.relay.stall();
    // Without a limit of its own it would wait until the test is given up.
    await liveness.stop();
  });
});
