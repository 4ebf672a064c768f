import type { JobStatus } from '../domain/job.ts';
import type { Transition } from '../domain/transition.ts';
import type { Database, Statement } from './database.ts';

/** A transition, and what must still be true of the job for it to apply. */
export interface Settlement {
  id: string;
  expected: JobStatus;
  token: string;
  transition: Transition;
  /** What the webhook answered, when this settles a delivery. */
  answer: { statusCode: number | null; durationMs: number; body: string | null } | null;
}

const SETTLE: Statement = { name: 'settle', text: 'select jobferry_settle($1) as applied' };

/** Applies a batch in one commit. Answers the ids that were applied; a missing one lost a race. */
export async function settle(db: Database, settlements: Settlement[]): Promise<Set<string>> {
  const items = settlements.map(({ id, expected, token, transition, answer }) => ({
    id,
    expected,
    token,
    status: transition.status,
    attempts: transition.attempts,
    deferCount: transition.deferCount,
    interruptions: transition.interruptions,
    waitMs: transition.waitMs,
    lastError: transition.lastError,
    deadReason: transition.deadReason,
    entryAttempt: transition.entry?.attempt,
    entryStatus: transition.entry?.status,
    entryError: transition.entry?.error,
    entryCode: transition.entry?.webhookStatusCode,
    answerCode: answer?.statusCode,
    answerMs: answer?.durationMs,
    answerBody: answer?.body,
    effect: transition.queueEffect?.kind,
    effectMs: transition.queueEffect?.kind === 'hold' ? transition.queueEffect.ms : undefined,
  }));
  const row = await db.one<{ applied: string[] }>(SETTLE, [JSON.stringify(items)]);
  return new Set(row?.applied);
}
