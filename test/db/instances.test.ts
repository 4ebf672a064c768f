import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  type InstanceIdentity,
  type InstanceReport,
  ignoredNames,
  removeInstance,
  reportInstance,
} from '../../src/db/insight/instances.ts';
import { releaseRuns } from '../../src/db/insight/releases.ts';
import { processFacts } from '../../src/db/operator/facts.ts';
import { startHeartbeat } from '../../src/services/server/heartbeat.ts';
import { type Fixture, openFixture, takeOverClock } from '../support/database-fixture.ts';
import { SETTINGS } from '../support/process-settings.ts';
import { waitFor } from '../support/wait-for.ts';

const START = Date.UTC(2026, 10, 21, 12);
const MINUTE = 60_000;

let fixture: Fixture;
let setClock: (ms: number) => Promise<void>;

beforeAll(async () => {
  fixture = await openFixture();
  setClock = await takeOverClock(fixture.db, START);
});

const report: InstanceReport = {
  role: 'all',
  version: '1.2.3',
  inFlight: 3,
  capacity: 1000,
  clockOffsetSeconds: 0.5,
  address: 'http://127.0.0.1:8080/',
  ignored: [],
  settings: SETTINGS,
};
const rows = () => fixture.db.query<{ id: string; in_flight: number }>('select * from instance order by started_at');

it('is one row per process, as its last heartbeat wrote it', async () => {
  const identity = await reportInstance(fixture.db, null, report);
  await setClock(START + 5000);
  expect(await reportInstance(fixture.db, identity, { ...report, inFlight: 4 })).toEqual(identity);
  expect(await rows()).toEqual([
    {
      id: identity.id,
      role: 'all',
      version: '1.2.3',
      started_at: new Date(START),
      last_seen_at: new Date(START + 5000),
      in_flight: 4,
      capacity: 1000,
      clock_offset_seconds: 0.5,
      address: 'http://127.0.0.1:8080/',
      ignored: null,
      settings: SETTINGS,
      link: null,
    },
  ]);
  await removeInstance(fixture.db, identity.id);
  expect(await rows()).toEqual([]);
});

it('removes a process without a heartbeat for five minutes; its next heartbeat restores the row', async () => {
  await setClock(START);
  const frozen = await reportInstance(fixture.db, null, report);
  await setClock(START + MINUTE);
  const other = await reportInstance(fixture.db, null, { ...report, role: 'worker' });
  const ids = async () => (await rows()).map(({ id }) => id);
  await setClock(START + 5 * MINUTE);
  await reportInstance(fixture.db, other, report);
  expect(await ids()).toEqual([frozen.id, other.id]);
  await setClock(START + 5 * MINUTE + 1);
  await reportInstance(fixture.db, other, report);
  expect(await ids()).toEqual([other.id]);
  expect(await reportInstance(fixture.db, frozen, report)).toEqual(frozen);
  expect(await ids()).toEqual([frozen.id, other.id]);
  for (const { id } of [frozen, other]) await removeInstance(fixture.db, id);
});

it('has the names that publishes to a queue had and the API ignores, of all processes together', async () => {
  const of = (queue: string, count: number, names: string, lastMs: number) => ({
    accountId: 'a',
    queue,
    names,
    count,
    firstMs: lastMs + MINUTE,
    lastMs,
  });
  await setClock(START);
  const one = { ...report, ignored: [of('mails', 3, 'old', 2000), of('others', 5, 'x', 0)] };
  const two = { ...report, ignored: [of('mails', 4, 'dealy (did you mean delay?)', 1000)] };
  const ids = [await reportInstance(fixture.db, null, one), await reportInstance(fixture.db, null, two)];
  expect(await ignoredNames(fixture.db, 'a', ['mails', 'none'])).toEqual(
    new Map([
      [
        'mails',
        {
          names: 'dealy (did you mean delay?)',
          count: 7,
          since: new Date(START - 2000 - MINUTE),
          lastAt: new Date(START - 1000),
        },
      ],
    ]),
  );
  expect((await ignoredNames(fixture.db, 'b', ['mails'])).size).toBe(0);
  for (const { id } of ids) await removeInstance(fixture.db, id);
});

it('is reported again and again until the process stops, whatever fails in between', async () => {
  const errors: unknown[] = [];
  let inFlight = 0;
  const stop = startHeartbeat(
    fixture.db,
    { warn: (fields) => void errors.push(fields) },
    () => {
      inFlight += 1;
      if (inFlight === 2) throw new Error('not now');
      return { ...report, inFlight };
    },
    10,
  );
  await waitFor(async () => ((await rows())[0]?.in_flight ?? 0) > 3, { message: 'some reports' });
  expect(errors).toHaveLength(1);
  expect(await rows()).toHaveLength(1);
  await stop();
  expect(await rows()).toEqual([]);
});

describe('the releases that began to run', () => {
  const beat = (version: string, identity: InstanceIdentity | null = null) =>
    reportInstance(fixture.db, identity, { ...report, version });
  const runs = async () =>
    (await releaseRuns(fixture.db)).map(({ version, before, at }) => [version, before, at.getTime() - START]);
  const running: InstanceIdentity[] = [];
  const stop = async (...identities: InstanceIdentity[]) => {
    for (const { id } of identities) await removeInstance(fixture.db, id);
  };

  beforeEach(async () => {
    await stop(...running.splice(0));
    await fixture.db.query('truncate release_run, instance');
    await setClock(START);
  });

  it('are recorded once, however many processes of a release start, and again when one is taken back', async () => {
    const first = [await beat('1.0.0'), await beat('1.0.0')];
    await setClock(START + MINUTE);
    for (const one of first) await beat('1.0.0', one);
    const second = await beat('1.1.0');
    for (const one of first) await beat('1.0.0', one);
    expect(await runs()).toEqual([
      ['1.1.0', '1.0.0', MINUTE],
      ['1.0.0', null, 0],
    ]);
    // One of the old ones crashes during the rollout, and starts again beside the other.
    await beat('1.0.0');
    expect(await runs()).toHaveLength(2);

    await fixture.db.query(`delete from instance where version = '1.0.0'`);
    await setClock(START + 2 * MINUTE);
    await beat('1.1.0', second);
    const back = await beat('1.0.0');
    expect((await runs())[0]).toEqual(['1.0.0', '1.1.0', 2 * MINUTE]);
    // The rollback stops half-way, and the later release stays: it is the one that runs.
    await stop(back);
    await beat('1.1.0', second);
    expect((await runs()).map(([version]) => version)).toEqual(['1.1.0', '1.0.0', '1.1.0', '1.0.0']);
  });

  it('are recorded once and last also while the clock is behind that of the one before', async () => {
    await setClock(START + 60 * MINUTE);
    const first = await beat('1.0.0');
    await stop(first);
    await setClock(START);
    const second = await beat('1.1.0');
    for (let n = 0; n < 3; n += 1) await beat('1.1.0', second);
    expect((await runs()).map(([version, before]) => [version, before])).toEqual([
      ['1.1.0', '1.0.0'],
      ['1.0.0', null],
    ]);
    expect(await fixture.db.query('select from release_run')).toHaveLength(2);
    running.push(second);
  });

  it('have none twice that two processes recorded at once, and a hundred are kept', async () => {
    await fixture.db.query(
      `insert into release_run (version, began_at)
       select '1.' || n / 2 || '.0', to_timestamp($1::float8 / 1000) + n * interval '1 ms' from generate_series(0, 219) n`,
      [START],
    );
    const before = await runs();
    expect([before.length, ...before.slice(0, 2)]).toEqual([
      110,
      ['1.109.0', '1.108.0', 218],
      ['1.108.0', '1.107.0', 216],
    ]);
    await setClock(START + MINUTE);
    await beat('2.0.0');
    expect((await fixture.db.query('select from release_run')).length).toBe(100);
    expect((await runs())[0]).toEqual(['2.0.0', '1.109.0', MINUTE]);
  });
});

it('is read from a database of an earlier build, which lacks columns', async () => {
  const { db } = await openFixture();
  await reportInstance(db, null, report);
  await db.query('alter table instance drop column clock_offset_seconds, drop column settings');
  expect(await processFacts(db)).toMatchObject([{ role: 'all', clockOffsetSeconds: null, settings: null }]);
});
