import { Cipher } from '../../src/db/connection/cipher.ts';
import type { Database } from '../../src/db/connection/database.ts';
import { Egress } from '../../src/delivery/egress.ts';
import type { Sender, SendResult } from '../../src/delivery/send.ts';
import type { Account } from '../../src/domain/account.ts';
import { NO_CHANGES } from '../../src/live/live.ts';
import type { Context } from '../../src/services/context.ts';
import { createPublish } from '../../src/services/jobs/publish.ts';
import { Dispatcher } from '../../src/worker/dispatch/dispatcher.ts';
import { batched } from '../support/batched.ts';
import { claimedRow } from '../support/claimed-row.ts';
import { EventLoop } from './event-loop.ts';
import { type Figures, figure, type Group } from './figures.ts';

/** Turns of the event loop until the database, or a receiver, has answered. */
const STATEMENT = 6;
const DELIVERY = 4;

const silent = { trace() {}, debug() {}, info() {}, warn() {}, error() {}, fatal() {}, isLevelEnabled: () => false };
const PUBLISHED = 1000;

/** A database of a fixed speed: jobs that are due by queue, and how often each statement was sent. */
class ScriptedDatabase {
  readonly cipher = new Cipher();
  readonly log = silent;
  readonly fullDisk = { wrote: () => undefined };
  readonly due = new Map<string, number>();
  readonly sent: Record<string, number> = {};
  settled = 0;
  #ids = 0;
  readonly #loop: EventLoop;

  constructor(loop: EventLoop) {
    this.#loop = loop;
  }

  onlyWhile(): this {
    return this;
  }

  query(asked: { name: string }, askedWith: unknown[]): Promise<unknown[]> {
    const { name, values } = batched(asked.name, askedWith);
    this.#count(name);
    const queueIds = values[0] as string[];
    if (name === 'accounts-of-queues') return this.#answer(queueIds.map((id) => ({ id, account_id: 'account' })));
    if (name !== 'claim') throw new Error(`the scripted database knows no statement ${name}`);
    const limits = values[1] as number[];
    return this.#answer(queueIds.flatMap((queueId, index) => this.#claimed(queueId, limits[index] ?? 0)));
  }

  async one(asked: { name: string }, askedWith: unknown[]): Promise<unknown> {
    const { name, values, narrow } = batched(asked.name, askedWith);
    this.#count(name);
    const all = JSON.parse(values[0] as string) as { id: string }[];
    const only = (row: object) => this.#answer(narrow([row])[0]);
    if (name === 'publish') return only({ answers: this.#published(all.length), claims: null });
    if (name !== 'settle') throw new Error(`the scripted database knows no statement ${name}`);
    const answer = await only({ applied: all.map(({ id }) => id) });
    this.settled += all.length;
    return answer;
  }

  #published(count: number) {
    const ids = Array.from({ length: count }, () => `job-${++this.#ids}`);
    return { createdAt: 0, ids, queueIds: ids.map(() => 'queue'), others: null };
  }

  #claimed(queueId: string, limit: number): unknown[] {
    const due = this.due.get(queueId) ?? 0;
    const count = Math.min(due, limit);
    this.due.set(queueId, due - count);
    const about = {
      queue_id: queueId,
      claimed_at: new Date(0),
      wait_ms: due > count ? 0 : Number.POSITIVE_INFINITY,
      queue_deleted: false,
    };
    if (count === 0) return [{ ...about, id: null }];
    return Array.from({ length: count }, () => ({ ...about, ...claimedRow(queueId, 'account', ++this.#ids) }));
  }

  #count(name: string): void {
    this.sent[name] = (this.sent[name] ?? 0) + 1;
  }

  #answer<T>(value: T): Promise<T> {
    return this.#loop.answer(STATEMENT, value);
  }
}

/** Receivers that answer after a fixed time. */
class ScriptedSender implements Sender {
  readonly egress = new Egress();
  firstAt: number | null = null;
  readonly #loop: EventLoop;

  constructor(loop: EventLoop) {
    this.#loop = loop;
  }

  send(): Promise<SendResult> {
    this.firstAt ??= this.#loop.turn;
    const answer = { kind: 'answered', statusCode: 200, retryAfter: null } as const;
    return this.#loop.answer(DELIVERY, { answer, durationMs: 1, responseBody: '' });
  }

  async close(): Promise<void> {}
}

function dispatcherOn(loop: EventLoop) {
  const db = new ScriptedDatabase(loop);
  const sender = new ScriptedSender(loop);
  const dispatcher = new Dispatcher({
    db: db as unknown as Database,
    sender,
    log: silent as never,
    changes: NO_CHANGES,
    workerId: 1,
    capacity: 256,
    leaseMs: 500_000,
    mayClaim: () => true,
    mayStart: async () => true,
    stillHolds: () => true,
    onRefused: () => undefined,
    locks: { lock: async () => true, unlock: async () => undefined },
  });
  return { db, sender, dispatcher };
}

/** Jobs that become due: `jobs` in every turn, in each of the queues in turn, until there are `total`. */
interface Flow {
  total: number;
  perTurn: number;
  queues?: number;
}

/** Claims and settles of a worker, and the turns until its first request is sent. */
export async function weighDispatcher({ total, perTurn, queues = 1 }: Flow): Promise<Group> {
  const loop = new EventLoop();
  const { db, sender, dispatcher } = dispatcherOn(loop);
  let due = 0;
  const flow = () => {
    for (let n = 0; n < perTurn && due < total; n += 1, due += 1) {
      const queueId = `queue-${due % queues}`;
      db.due.set(queueId, (db.due.get(queueId) ?? 0) + 1);
      dispatcher.wake(queueId, 'job');
    }
    if (due < total) void loop.answer(1, null).then(flow);
  };
  await loop.run(flow, () => db.settled === total && dispatcher.inFlight === 0);
  return {
    claims: figure(((db.sent.claim ?? 0) / total) * 1000, 'per 1000 jobs'),
    settles: figure(((db.sent.settle ?? 0) / total) * 1000, 'per 1000 jobs'),
    'until the first request': figure(sender.firstAt ?? 0, 'turns of the event loop'),
    'until the last outcome': figure(loop.turn, 'turns of the event loop'),
  };
}

/** Publishes of so many callers, each of which publishes again after each answer. */
async function weighPublishes(callers: number): Promise<Group> {
  const loop = new EventLoop();
  const db = new ScriptedDatabase(loop);
  const account = { id: 'account', name: 'account', plan: 'any', actor: { type: 'operator', id: null, label: '' } };
  const context = {
    db,
    plans: { any: { monthlyAttempts: null } },
    periods: { lifetimeMs: 1e9, retentionMs: 1e9 },
    wake: () => undefined,
    changes: NO_CHANGES,
  };
  const { publish } = createPublish(context as unknown as Context);
  let [begun, ended] = [0, 0];
  const caller = async () => {
    while (begun < PUBLISHED) {
      begun += 1;
      await publish(account as Account, 'queue', { payload: '{}' });
      ended += 1;
      // The answer and the next request are on their way.
      await loop.answer(1, null);
    }
  };
  const begin = () => {
    for (let n = 0; n < callers; n += 1) void caller();
  };
  await loop.run(begin, () => ended === PUBLISHED);
  return {
    statements: figure(db.sent.publish ?? 0, 'per 1000 jobs'),
    'from request to answer': figure((loop.turn * callers) / PUBLISHED, 'turns of the event loop'),
  };
}

/** Measures how much of the work of a process shares a statement. */
export async function weighGrouping(): Promise<Figures> {
  return {
    'worker: a backlog of 1000 jobs': await weighDispatcher(BACKLOG),
    'worker: 3 jobs in each turn': await weighDispatcher({ total: 3000, perTurn: 3 }),
    'worker: 3 jobs in each turn, of 200 queues': await weighDispatcher({ total: 3000, perTurn: 3, queues: 200 }),
    'worker: a single job': await weighDispatcher({ total: 1, perTurn: 1 }),
    'API: 1 caller': await weighPublishes(1),
    'API: 32 callers': await weighPublishes(32),
  };
}

export const BACKLOG: Flow = { total: 1000, perTurn: 1000 };
