import { setTimeout } from 'node:timers/promises';
import { afterAll } from 'vitest';
import { Cipher } from '../../src/db/connection/cipher.ts';
import { Database } from '../../src/db/connection/database.ts';
import { createPrisma, createReadingPrisma } from '../../src/db/connection/prisma.ts';
import type { Account } from '../../src/domain/account.ts';
import { isUnavailable } from '../../src/domain/errors.ts';
import { DEFAULT_PLANS } from '../../src/domain/plan.ts';
import type { ChangeFeed } from '../../src/live/live.ts';
import type { Context } from '../../src/services/context.ts';
import { createServices } from '../../src/services/services.ts';
import { WakeNotifier } from '../../src/services/wake-notifier.ts';
import { PATIENCE_MS, patient } from './database-fixture.ts';

export interface AuditRow {
  actor_type: string;
  actor_id: string | null;
  actor_label: string;
  action: string;
  target_type: string;
  target_id: string;
  target_name: string | null;
  before: Record<string, unknown> | null;
  after: Record<string, unknown> | null;
}

export type TestServices = ReturnType<typeof openServices>;

const DAY_MS = 86_400_000;
/** Refusals of a process that had too much to do. */
const TOO_BUSY = /too long|too many/;
/** Between two calls of a client that was refused. */
const RETRY_MS = 100;

/**
 * The use cases in the test's own process: one more API process of whatever runs on this database, and
 * one without a worker, so all that it does reaches the workers by way of the database.
 */
export function openServices(
  databaseUrl: string,
  {
    retentionMs = 3 * DAY_MS,
    lifetimeMs = DAY_MS,
    encryptionKeys = [],
    sendsMail = false,
  }: { retentionMs?: number; lifetimeMs?: number; encryptionKeys?: Uint8Array[]; sendsMail?: boolean } = {},
) {
  const db = patient(new Database(databaseUrl, { warn: () => undefined }, new Cipher(encryptionKeys)));
  const prisma = createPrisma(db, { maxWait: PATIENCE_MS, timeout: PATIENCE_MS });
  const readingPrisma = createReadingPrisma(db);
  const notifier = new WakeNotifier(db, db.log);
  afterAll(async () => {
    await notifier.idle();
    await prisma.$disconnect();
    await readingPrisma.close();
    await db.close();
  });
  const changes: Parameters<ChangeFeed['changed']>[0][] = [];
  const wakes = new Map<string, number>();
  const context: Context = {
    db,
    prisma,
    readingPrisma,
    plans: DEFAULT_PLANS,
    templates: {},
    periods: { retentionMs, lifetimeMs },
    server: { version: '0.0.0', environment: 'test', webhookTimeoutMs: 15_000 },
    signIn: { sessionMaxMs: DAY_MS, issuer: null, onlyOidc: false },
    wake: (queueId, reason) => {
      wakes.set(queueId, (wakes.get(queueId) ?? 0) + 1);
      notifier.add(queueId, reason);
    },
    changes: { changed: (change) => changes.push(change) },
    sendTest: () => Promise.reject(new Error('there are no receivers')),
    examine: () => Promise.reject(new Error('there are no receivers')),
    allowsAddress: () => true,
    sendsMail,
  };

  const services = createServices(context);
  return {
    db,
    context,
    /** The changes that live subscribers would have received so far. */
    changes,
    /** How often workers would have been notified so far, by queue. */
    wakes,
    ...services,
    jobs: { ...services.jobs, publish: insisting(services.jobs.publish) },

    /** The account that was made first, as one of its keys would find it. */
    async firstAccount(): Promise<Account> {
      const row = await db.one<Omit<Account, 'actor'>>('select id, name, plan from account order by id limit 1');
      if (row === null) throw new Error('no account');
      return { ...row, actor: { type: 'api_key', id: 'a'.repeat(24), label: 'jf_abc…wxyz' } };
    },

    /** Entries of the audit log about something, oldest first. */
    auditOf(targetId: string): Promise<AuditRow[]> {
      return db.query<AuditRow>(
        `select actor_type, actor_id, actor_label, action, target_type, target_id, target_name, before, after
           from audit_entry where target_id = $1 order by id`,
        [targetId],
      );
    },
  };
}

/** Calls again, as a client would, what was refused because the process had too much to do. */
function insisting<Args extends unknown[], Result>(call: (...args: Args) => Promise<Result>): typeof call {
  const attempt = async (until: number, args: Args): Promise<Result> => {
    try {
      return await call(...args);
    } catch (error) {
      if (!isUnavailable(error) || !TOO_BUSY.test(error.message) || performance.now() > until) throw error;
      await setTimeout(RETRY_MS);
      return attempt(until, args);
    }
  };
  return (...args) => attempt(performance.now() + PATIENCE_MS, args);
}
