import { afterAll } from 'vitest';
import { createPrisma, createReadingPrisma } from '../../src/db/connection/prisma.ts';
import { rollUp } from '../../src/db/insight/statistics.ts';
import type { Account } from '../../src/domain/account.ts';
import { DEFAULT_PLANS } from '../../src/domain/plan.ts';
import { createUsage } from '../../src/services/accounts/usage.ts';
import type { Context } from '../../src/services/context.ts';
import { createDeadLetterSearch } from '../../src/services/dead-letters/search.ts';
import { createQueueInsight, type QueueState } from '../../src/services/insight/queues.ts';
import { createReceiverInsight } from '../../src/services/insight/receivers.ts';
import { createServerFacts } from '../../src/services/server/facts.ts';
import { LIFETIME_MS, openFixture, RETENTION_MS } from './database-fixture.ts';

/** The queries of dashboards, on the SQL functions of the fixture and without any process around them. */
export async function openInsight() {
  const fixture = await openFixture();
  const { db, accountId } = fixture;
  const prisma = createPrisma(db);
  afterAll(() => prisma.$disconnect());
  const context: Context = {
    db,
    prisma,
    readingPrisma: createReadingPrisma(db),
    plans: DEFAULT_PLANS,
    templates: {},
    periods: { retentionMs: RETENTION_MS, lifetimeMs: LIFETIME_MS },
    server: { version: '1.2.3', environment: 'test', webhookTimeoutMs: 15_000 },
    signIn: { sessionMaxMs: 86_400_000, issuer: null, onlyOidc: false },
    wake: () => undefined,
    changes: { changed: () => undefined },
    sendTest: () => Promise.reject(new Error('there are no receivers')),
    examine: () => Promise.reject(new Error('there are no receivers')),
    allowsAddress: () => true,
  };
  const actor = { type: 'api_key', id: 'a'.repeat(24), label: 'jf_abc…wxyz' } as const;
  const account: Account = { id: accountId, name: 'test', plan: 'pro', actor };
  const stranger = await db.one<{ id: string }>(
    `insert into account (name, plan) values ('other', 'pro') returning id`,
  );
  const other: Account = { ...account, id: stranger?.id ?? '' };
  const queues = createQueueInsight(context);
  /** One part of the state of queues. Deleted ones, which have nothing but their row, are left out. */
  const stateOf =
    <Part extends 'depth' | 'use' | 'health'>(part: Part) =>
    async (by: Account, queueIds: string[]): Promise<Map<string, NonNullable<QueueState[Part]>>> => {
      const states = await queues.states(by, queueIds, { parts: [part] });
      return new Map([...states].flatMap(([id, state]) => (state[part] === null ? [] : [[id, state[part]]])));
    };
  return {
    ...fixture,
    account,
    other,
    ...queues,
    depths: stateOf('depth'),
    uses: stateOf('use'),
    healths: stateOf('health'),
    receivers: createReceiverInsight(context),
    deadLetters: createDeadLetterSearch(context),
    ...createUsage(context),
    ...createServerFacts(context),
    /** Brings the statistics as far as they go. */
    async rollUp(): Promise<void> {
      while (await rollUp(db, RETENTION_MS)) {
        // Step by step.
      }
    },
  };
}

export type Insight = Awaited<ReturnType<typeof openInsight>>;

/** Chance that is the same in every run, so that a failure comes again. */
export function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
