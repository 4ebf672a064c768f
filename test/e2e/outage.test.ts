import { setTimeout } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createAccount, type TestAccount } from '../support/account.ts';
import { type Api, type ApiQueue, createApi } from '../support/api.ts';
import { createTestDatabase } from '../support/database.ts';
import { parsePage, sumOf } from '../support/metrics-page.ts';
import { type Jobferry, type LogLine, startJobferry } from '../support/process.ts';
import { publishInSql, publishUnnoticed } from '../support/publish-in-sql.ts';
import type { Receiver } from '../support/receiver.ts';
import { createGate, openReceiver } from '../support/service.ts';
import { refusal } from '../support/shapes.ts';
import { relayDatabase, type TcpRelay } from '../support/tcp-relay.ts';
import { always, waitFor } from '../support/wait-for.ts';

/** A database that goes away and comes back (I-37, F-6, F-10): honest meanwhile, as before after. */

let api: Api;
let jobferry: Jobferry;
let account: TestAccount;
let relay: TcpRelay;
let receiver: Receiver;
let queue: ApiQueue;

let databaseUrl: string;
let observer: pg.Client;

/** By a connection that nothing breaks. */
const query = (text: string) => observer.query(text);

afterAll(() => observer.end());

beforeAll(async () => {
  const { url } = await createTestDatabase();
  databaseUrl = url;
  observer = new pg.Client({ connectionString: url });
  await observer.connect();
  account = await createAccount(url);
  const relayed = await relayDatabase(url);
  relay = relayed.relay;
  // A claim that committed and whose answer was lost comes back when its lease ends, 5 s after this.
  jobferry = await startJobferry({ databaseUrl: relayed.url, env: { WEBHOOK_TIMEOUT_SECONDS: '4' } });
  api = createApi(jobferry.baseUrl, account.key);
  receiver = await openReceiver();
  queue = await api.createQueue({ webhookUrl: receiver.url });
});

/** Undoes what a test has changed in the database, if it could not do so itself. */
let restore: () => Promise<unknown> = async () => undefined;

afterEach(async () => {
  await restore();
  restore = async () => undefined;
  await relay.heal();
  await waitFor(async () => (await fetch(`${jobferry.baseUrl}/readyz`)).ok, { message: 'readiness' });
});

/**
 * Milliseconds that a client may wait for an answer (I-37), with those that many requests at once may add. Less than
 * two statements that the database does not answer take. A busy machine adds more, as much as it shows in answers that
 * need no database.
 */
const PATIENCE_MS = 5000 + 3500;

const health = async (path: '/healthz' | '/readyz') => {
  const response = await fetch(`${jobferry.baseUrl}${path}`);
  return { status: response.status, body: (await response.json()) as unknown };
};
const publish = (key?: string) =>
  api.call<{ id: string }>('POST', `/v1/queues/${queue.name}/jobs`, {
    payload: {},
    ...(key === undefined ? {} : { idempotencyKey: key }),
  });

async function timed<T>(work: () => Promise<T>): Promise<{ answer: T; tookMs: number }> {
  const startedAt = performance.now();
  const answer = await work();
  return { answer, tookMs: performance.now() - startedAt };
}

/** The answers, none of which took too long on a machine as busy as it is now. */
async function inTime<T>(work: Promise<{ answer: T; tookMs: number }>[]): Promise<T[]> {
  let isOver = false;
  const settled = Promise.all(work).finally(() => {
    isOver = true;
  });
  let slowestMs = 0;
  while (!isOver) {
    const { tookMs } = await timed(() => health('/healthz'));
    slowestMs = Math.max(slowestMs, tookMs);
    await Promise.race([settled, setTimeout(100)]);
  }
  const timedAnswers = await settled;
  for (const { tookMs } of timedAnswers) expect(tookMs).toBeLessThan(PATIENCE_MS + 3 * slowestMs);
  return timedAnswers.map(({ answer }) => answer);
}

/** Publishes without a pause: some find their key remembered, most do not. */
async function expectHonestRefusals(rounds: number, atOnce: number): Promise<void> {
  for (let round = 0; round < rounds; round += 1) {
    for (const answer of await inTime(Array.from({ length: atOnce }, () => timed(() => publish())))) {
      expect(answer).toMatchObject({ status: 503, body: refusal });
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
      expect(answer.headers.get('content-type')).toContain('application/json');
    }
  }
}

/** Everything works again, by itself, in the same process. */
async function expectResumed(): Promise<void> {
  await relay.heal();
  const published = await waitFor(
    async () => {
      const answer = await publish();
      return answer.status === 201 ? answer.body : null;
    },
    { message: 'a publish that is accepted' },
  );
  await api.waitForStatus(published.id, 'completed');
  await waitFor(async () => (await health('/readyz')).status === 200, { message: 'readiness' });
  process.kill(jobferry.pid, 0); // throws when it is gone
}

describe('health', () => {
  it('is reported in JSON without a key', async () => {
    expect(await health('/healthz')).toEqual({ status: 200, body: { status: 'ok' } });
    const ready = {
      status: 'ready',
      checks: { database: 'ok', schema: 'ok', worker: 'ok', publishes: 'ok', egress: 'ok' },
    };
    expect(await health('/readyz')).toEqual({ status: 200, body: ready });
  });
});

/** Publishes that the metrics of the process call refused because of it, and not of their clients. */
async function countedRefusals(): Promise<number> {
  const page = parsePage(await (await fetch(`${jobferry.baseUrl}/metrics`)).text(), 'prometheus');
  const reasons = ['unavailable', 'unknown', 'busy', 'error'];
  return reasons.reduce((sum, reason) => sum + sumOf([page], 'jobferry_publish_refusals_total', { reason }), 0);
}

describe('a database that is gone', () => {
  it.each(['cut', 'stall'] as const)(
    'is seen in the metrics of refused publishes, each of them once (%s)',
    async (fault) => {
      // The process does not know this key yet, and cannot look it up:
      // the service of publishes sees none of its publishes.
      const unknown = createApi(jobferry.baseUrl, (await createAccount(databaseUrl)).key);
      const path = `/v1/queues/${queue.name}/jobs`;
      const before = await countedRefusals();
      await relay[fault]();
      const answers = await Promise.all(
        Array.from({ length: 12 }, () => [publish(), unknown.call('POST', path, { payload: {} })]).flat(),
      );
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 503));
      // Other requests are not counted.
      expect((await unknown.call('GET', `/v1/queues/${queue.id}`)).status).toBe(503);
      // A page is made once a second at most.
      await waitFor(async () => (await countedRefusals()) >= before + answers.length, { message: 'all refusals' });
      expect(await countedRefusals()).toBe(before + answers.length);
      await expectResumed();
    },
  );

  it('is reported: not ready but alive, 503 for every call, and no query for a key that is none', async () => {
    await relay.cut();
    // The result is cached for a second.
    await waitFor(async () => {
      const unready = { status: 'not ready', checks: { database: 'not reachable' } };
      expect(await health('/readyz')).toMatchObject({ status: 503, body: unready });
      return true;
    });
    expect((await health('/healthz')).status).toBe(200);
    await expectHonestRefusals(3, 5);
    for (const [method, path, body] of [
      ['GET', '/v1/queues'],
      ['POST', '/v1/queues', { name: 'new', webhookUrl: receiver.url }],
      ['PUT', `/v1/queues/${queue.id}`, {}],
      ['DELETE', `/v1/queues/${queue.id}`],
      ['GET', `/v1/queues/${queue.id}/jobs`],
      ['GET', `/v1/queues/${queue.id}/dlq`],
      ['POST', `/v1/queues/${queue.id}/dlq/replay`, { all: true }],
      ['POST', `/v1/jobs/${queue.id}/ack`],
    ] as const) {
      const answer = await api.call(method, path, body);
      expect(answer, path).toMatchObject({ status: 503, body: refusal });
      expect(answer.headers.get('retry-after'), path).toMatch(/^\d+$/);
    }
    // H45: a wrong checksum is seen without the database, which an unknown key is not.
    const mistyped = `${account.key.slice(0, -1)}${account.key.endsWith('0') ? '1' : '0'}`;
    const status = async (key: string) => (await createApi(jobferry.baseUrl, key).call('GET', '/v1/queues')).status;
    expect(await status(mistyped)).toBe(401);
    expect(await status('a-key-of-no-account')).toBe(503);
    await expectResumed();
  });

  it('costs no accepted job, and makes none twice', async () => {
    const keys = Array.from({ length: 60 }, (_, n) => `during-${n}`);
    const accepted = new Set<string>();
    // As a client does it: the same key again, until there is an answer.
    const publishing = keys.map((key) =>
      waitFor(async () => {
        const { status, body } = await publish(key);
        always(() => expect([200, 201, 503]).toContain(status));
        if (status !== 503) accepted.add(body.id);
        return status !== 503;
      }),
    );
    await waitFor(() => accepted.size > 0, { everyMs: 1, message: 'the first answer' });
    await relay.cut();
    await expectHonestRefusals(1, 5);
    await relay.heal();
    await Promise.all(publishing);
    expect(accepted.size).toBe(keys.length);
    for (const id of accepted) await api.waitForStatus(id, 'completed');
    expect((await api.listJobs(queue.id, '?idempotencyKey=during-')).total).toBe(keys.length);
  });

  it('does not take the result of a delivery with it', async () => {
    const gate = createGate();
    const slow = await openReceiver(async () => {
      await gate.opened;
      return {};
    });
    const { name } = await api.createQueue({ webhookUrl: slow.url });
    const { id } = await api.publish(name);
    await slow.waitFor(1);
    await relay.cut();
    gate.open();
    await slow.waitFor((requests) => requests.every((request) => request.answeredAt !== null));
    await expectResumed();
    const job = await api.waitForStatus(id, 'completed');
    expect(job.attempts).toBe(1);
    expect(job.history).toMatchObject([{ attempt: 1, status: 'success' }]);
  });
});

/** Lines with the same message and cause. */
function grouped(lines: LogLine[]): Record<string, LogLine[]> {
  const groups: Record<string, LogLine[]> = {};
  for (const line of lines) {
    const { message, cause } = (line.err ?? {}) as { message?: unknown; cause?: unknown };
    const key = JSON.stringify([line.msg, message, cause]);
    groups[key] = [...(groups[key] ?? []), line];
  }
  return groups;
}

/**
 * Lines in each of the log's periods of ten seconds; the first period may have begun before the first of these lines.
 */
function perPeriod(lines: LogLine[]): number {
  const times = lines.map(({ time }) => Date.parse(String(time)));
  const lastedMs = Math.max(...times, 0) - Math.min(...times);
  return times.length / (Math.floor(lastedMs / 10_000) + 2);
}

describe('a database that no longer answers', () => {
  it('fills no log: one line stands for all background work', async () => {
    const before = jobferry.logs.length;
    await relay.cut();
    const lines = () =>
      jobferry.logs
        .slice(before)
        .filter(({ level, msg }) => (level === 'warn' || level === 'error') && msg !== 'attempt');
    const of = 'the database is not available: background work fails, and is retried';
    // An outage of an earlier test may have been told less than ten seconds ago.
    const told = () => lines().findIndex(({ msg }) => msg === of);
    const counted = () =>
      told() >= 0 &&
      lines()
        .slice(told())
        .some((line) => line.of === of);
    await waitFor(counted, { message: 'one line, and the number of the others' });
    const messages = new Set(lines().map(({ msg }) => msg));
    // A part with a connection of its own has a message of its own: up to seven were seen. With those of the loops,
    // which are more than ten, it would be twice as many.
    expect(messages.size, [...messages].join('\n')).toBeLessThanOrEqual(10);
    // However long this took.
    expect(perPeriod(lines().filter(({ msg }) => msg === of))).toBeLessThanOrEqual(1);
    for (const [line, equal] of Object.entries(grouped(lines()))) {
      expect(perPeriod(equal), line).toBeLessThanOrEqual(5);
    }
  });

  it('is given up on in time, however many requests there are', async () => {
    // Data sent into a stalled connection may arrive when the stall ends.
    const doomed = await api.createQueue({ webhookUrl: receiver.url });
    relay.stall();
    const other = ['GET', 'PUT', 'GET', 'DELETE'].flatMap((method, n) =>
      Array.from({ length: 6 }, () =>
        timed(() => api.call(method, `/v1/queues/${doomed.id}`, n === 1 ? {} : undefined)),
      ),
    );
    const [, answers] = await Promise.all([expectHonestRefusals(1, 40), inTime(other)]);
    for (const { status } of answers) expect(status).toBe(503);
    expect((await health('/healthz')).status).toBe(200);
    await expectHonestRefusals(1, 5);
    await expectResumed();
  });

  it('makes the process not ready, which /readyz answers within a second however many requests there are', async () => {
    relay.stall();
    // One quick round suffices, so a machine that is busy for a while does no harm. A statement's own limit is 4 s.
    const answers = await waitFor(
      async () => {
        const asked = await Promise.all(Array.from({ length: 50 }, () => timed(() => health('/readyz'))));
        return asked.every(({ answer, tookMs }) => answer.status === 503 && tookMs < 3500) && asked;
      },
      { message: '50 answers within 3500 ms' },
    );
    for (const { answer } of answers) {
      expect(answer.body).toMatchObject({ checks: { database: 'no answer within 800 ms' } });
    }
    // Before the first query has failed, it is "the server does not answer".
    await waitFor(
      async () => {
        const { checks } = (await health('/readyz')).body as { checks: Record<string, string> };
        const { worker = '' } = checks;
        return worker.startsWith('the lease lock is not confirmed: ') && worker.includes('no answer within 1000 ms');
      },
      { message: 'the reason' },
    );
    await relay.heal();
    await waitFor(async () => (await health('/readyz')).status === 200, { message: 'readiness' });
    for (const msg of ['not ready', 'ready again', 'lease lock lost: claiming stops until it is held again']) {
      expect(jobferry.logs.map((line) => line.msg)).toContain(msg);
    }
  });
});

describe('claims that fail', () => {
  it('make the process not ready, until one succeeds', async () => {
    const CLAIMS = ['jobferry_claim', 'jobferry_claim_one'];
    restore = async () => {
      for (const name of CLAIMS) {
        await query(`do $$ begin
          if to_regproc('broken_${name}') is not null then alter function broken_${name} rename to ${name}; end if;
        end $$`);
      }
    };
    // Both: another queue may happen to be claimed from together with the one of this test.
    for (const name of CLAIMS) await query(`alter function ${name} rename to broken_${name}`);
    // By another process: a publish by this one may claim its job itself (docs/decisions/0044).
    const published = `select stored->'ids'->>0 as id from (select ${publishInSql(queue.id, 1)} as stored) s`;
    const { id } = (await query(published)).rows[0];
    await waitFor(
      async () => {
        const { status, body } = await health('/readyz');
        return status === 503 && (body as { checks: { worker: string } }).checks.worker === 'claims fail';
      },
      { message: 'not ready' },
    );
    await restore();
    await api.waitForStatus(id, 'completed');
    await expectResumed();
  });
});

describe('a worker whose listening connection is cut', () => {
  it('finds work at once when it listens again', async () => {
    const found = await openReceiver();
    const [RUNS, CUTS] = [3, 3];
    // A queue per job: a claim after the delivery of the previous job cannot find it. Their creation is over by then.
    const queues = await Promise.all(
      Array.from({ length: RUNS * CUTS }, () => api.createQueue({ webhookUrl: found.url })),
    );
    const cut = async () => {
      const { id } = queues.pop() ?? queue;
      await query(publishUnnoticed(id, 1));
      const listeners = `select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and application_name = 'jobferry listener'`;
      await waitFor(async () => (await query(listeners)).rowCount, { message: 'a listening connection to cut' });
      await found.waitFor(RUNS * CUTS - queues.length);
      return performance.now();
    };
    // The regular rounds would need two intervals of 5 s from the first to the third. One quick run suffices, so a
    // machine that is busy for a while does no harm.
    const tookMs: number[] = [];
    while (queues.length > 0 && !tookMs.some((ms) => ms < 9000)) {
      const first = await cut();
      await cut();
      tookMs.push((await cut()) - first);
    }
    expect(Math.min(...tookMs)).toBeLessThan(9000);
  });
});

describe('a database that is read-only', () => {
  it('makes the process not ready, and is used again when it takes writes', async () => {
    const { pathname } = new URL(databaseUrl);
    const setReadOnly = (text: string) => query(`alter database ${pathname.slice(1)} ${text}`);
    restore = () => setReadOnly('reset default_transaction_read_only');
    // For sessions to come: the present ones are ended.
    await setReadOnly('set default_transaction_read_only = on');
    await query(`select pg_terminate_backend(pid) from pg_stat_activity
                  where datname = current_database() and pid <> pg_backend_pid()`);
    const worker = expect.stringContaining('in a read-only transaction');
    const checks = { database: 'read-only', schema: 'ok', worker };
    await waitFor(async () => (await health('/readyz')).status === 503, { message: 'not ready' });
    await waitFor(async () => {
      expect((await health('/readyz')).body).toMatchObject({ status: 'not ready', checks });
      return true;
    });
    await query('set default_transaction_read_only = off');
    // Sessions that began meanwhile stay read-only: the process has to replace them itself.
    await restore();
    await expectResumed();
  });
});
