import { queueNow } from '../../db/insight/queue-now.ts';
import type { StatsRow } from '../../db/insight/statistics.ts';
import { type LiveQueue, liveQueues } from '../../db/queues/live.ts';
import { lastAnswers } from '../../db/queues/receivers.ts';
import type { Account } from '../../domain/account.ts';
import { healthOf, type QueueHealth, refusedOf } from '../../domain/health.ts';
import { receiverOf } from '../../domain/receiver-host.ts';
import { sumOf } from '../../domain/statistics.ts';
import type { Context } from '../context.ts';
import { judgedQueues } from './healths.ts';
import { type ReceiverTrouble, receiverTroubles } from './receiver-trouble.ts';

/** A host to which queues deliver, with its live queues, oldest first. */
export interface Receiver {
  host: string;
  queues: readonly LiveQueue[];
}

/** The attempts of the last hour of all queues of a receiver, and its trouble. */
export interface ReceiverHealth extends Omit<QueueHealth, 'warnings' | keyof ReceiverTrouble>, ReceiverTrouble {
  /** Attempts with another answer than 2xx and backpressure, or without one. */
  refused: number;
  /**
   * Start of the last five minutes in which an attempt got a 2xx answer; null without one in a day. Without queues in
   * ack mode: their answers are counted when the attempt ends, by a report of the worker, which may be hours later.
   */
  acceptedAt: Date | null;
  /** Start of the last five minutes in which an attempt got another answer or none; null without one in a day. */
  refusedAt: Date | null;
}

/**
 * The receivers of an account: hosts of the webhook URLs of its queues.
 * An account has at most 1000 queues, so they are grouped here.
 * @throws JobferryError `unavailable`
 */
export function createReceiverInsight(context: Pick<Context, 'db' | 'periods' | 'server'>) {
  const { db, periods, server } = context;
  return {
    /** Returns all receivers, in the order of their hosts. */
    async list(account: Account): Promise<Receiver[]> {
      const byHost = new Map<string, LiveQueue[]>();
      for (const queue of await liveQueues(db.reading(account.id), account.id)) {
        const host = receiverOf(queue.webhookUrl);
        if (host !== null) byHost.set(host, [...(byHost.get(host) ?? []), queue]);
      }
      return [...byHost].map(([host, queues]) => ({ host, queues })).sort((a, b) => (a.host < b.host ? -1 : 1));
    },

    /** Returns how the receivers answered, by host. */
    async healths(account: Account, receivers: readonly Receiver[]): Promise<Map<string, ReceiverHealth>> {
      const reading = db.reading(account.id);
      const byHost = receivers.map(({ host, queues }) => ({ host, ids: queues.map(({ id }) => id) }));
      const ids = byHost.flatMap((receiver) => receiver.ids);
      const [states, answers] = await Promise.all([
        queueNow(reading, account.id, ids, { parts: new Set(['attempts']) }, periods),
        lastAnswers(reading, account.id, ids),
      ]);
      const hours = new Map([...states].map(([id, state]) => [id, state.attempts]));
      const judged = await judgedQueues(context, account, hours);
      const troubles = await receiverTroubles(context, account, byHost, judged, hours);
      const last = new Map(answers.map((one) => [one.id, one]));
      const rowsOf = (some: readonly LiveQueue[]) => some.flatMap(({ id }) => hours.get(id) ?? []);
      const lastOf = (some: readonly LiveQueue[]) => some.flatMap(({ id }) => last.get(id) ?? []);
      const healths = receivers.map(({ host, queues }) => {
        const rows = rowsOf(queues);
        const { warnings: _, ...health } = healthOf(sumOf(rows), server.webhookTimeoutMs);
        const atOnce = queues.filter(({ isAckMode }) => !isAckMode);
        const accepted = rowsOf(atOnce).filter(isAccepted).map(startOf);
        const refused = rows.filter(isRefused).map(startOf);
        return [
          host,
          {
            ...health,
            ...(troubles.get(host) as ReceiverTrouble),
            refused: refusedOf(health),
            acceptedAt: latest([...lastOf(atOnce).map((one) => one.acceptedAt), ...accepted]),
            refusedAt: latest([...lastOf(queues).map((one) => one.refusedAt), ...refused]),
          },
        ] as const;
      });
      return new Map(healths);
    },
  };
}

/** The statistics of the last hour also have the attempts of the last seconds. */
const startOf = ({ at }: StatsRow) => new Date(at);
const isAccepted = ({ answered2xx }: StatsRow) => answered2xx > 0;
const isRefused = (row: StatsRow) => refusedOf(row) + row.backpressure > 0;

function latest(times: readonly (Date | null)[]): Date | null {
  return times.reduce((last, at) => (last === null || (at !== null && at > last) ? at : last), null);
}
