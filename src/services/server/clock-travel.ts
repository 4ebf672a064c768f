import { setTimeout as sleep } from 'node:timers/promises';
import { clockAheadMs, type NextMoment, nextMoments, setClockAhead } from '../../db/clock-travel.ts';
import { databaseTime } from '../../db/connection/clock.ts';
import type { Database } from '../../db/connection/database.ts';
import { waitingJobs } from '../../db/insight/queues.ts';
import type { Account } from '../../domain/account.ts';
import {
  CLOCK_EVENT_REASONS,
  type ClockEvent,
  type ClockEventReason,
  type ClockState,
  MAX_TRAVEL_MS,
  type Travel,
  type Travelled,
} from '../../domain/clock-event.ts';
import { JobferryError } from '../../domain/errors.ts';
import { waitingMessageWithoutTexts, whyWaiting } from '../../domain/waiting.ts';

/** Lets time pass on a server for development or tests. */
export interface ClockTravel {
  read(account: Account): Promise<ClockState>;
  /** Lets time pass from event to event, and waits each time until what is due has happened. */
  travel(account: Account, to: Travel): Promise<Travelled>;
  /** Puts the clock back to that of the machine. */
  reset(account: Account): Promise<ClockState>;
}

interface Parts {
  db: Database;
  /** Makes the worker look for what is due. */
  lookAgain: () => void;
  /** Tells the process that the clock has moved. */
  clockMoved: () => Promise<void>;
}

/** How long what is due may take, in milliseconds. A delivery in flight is waited for. */
const SETTLE_MS = 20_000;
const POLL_MS = { first: 3, most: 30 };
/** A worker that has missed a wake-up looks again after this time. */
const LOOK_AGAIN_MS = 250;
/** Time that receivers have to report before a drain lets their deadline pass, in milliseconds. */
const REPORT_MS = 500;
/** Events in one travel. */
const MAX_STEPS = 10_000;

/** The state at one moment. */
interface Sight {
  now: Date;
  /** Whether something happens without the passing of time. */
  isBusy: boolean;
  events: ClockEvent[];
}

export function createClockTravel({ db, lookAgain, clockMoved }: Parts): ClockTravel {
  let running: Promise<unknown> = Promise.resolve();
  /** One at a time. */
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const mine = running.then(work, work);
    running = mine.catch(() => undefined);
    return mine;
  };

  async function look({ id }: Account): Promise<Sight> {
    const moments = await nextMoments(db, id);
    const pending = new Map(moments.flatMap((moment) => (moment.kind === 'pending' ? [[moment.jobId, moment]] : [])));
    const waiting = await waitingJobs(db, id, [...pending.keys()]);
    const now = new Date(await databaseTime(db));
    const events: ClockEvent[] = [];
    // A job that was claimed between the two statements is in neither list.
    let isBusy = waiting.length < pending.size;
    for (const { id: jobId, job, queue } of waiting) {
      const { reason, earliestAt } = whyWaiting(job, queue, now);
      if (reason === 'due' || reason === 'queue_deleted') isBusy = true;
      if (earliestAt === null || !isTimed(reason)) continue;
      const message = waitingMessageWithoutTexts(job, queue, now);
      events.push({ at: earliestAt, reason, message, queue: pending.get(jobId)?.queue ?? '', jobId });
    }
    for (const moment of moments) {
      if (moment.kind === 'in_flight') isBusy = true;
      if (moment.kind !== 'ack_deadline' && moment.kind !== 'lifetime') continue;
      if (moment.at <= now) isBusy = true;
      else events.push(eventOf(moment, moment.kind));
    }
    events.sort((a, b) => a.at.getTime() - b.at.getTime());
    return { now, isBusy, events };
  }

  /** Waits until nothing happens any more. @returns the last sight; it is busy if that took too long */
  async function settle(account: Account): Promise<Sight> {
    const startedAt = performance.now();
    let lookedAt = startedAt;
    for (let pauseMs = POLL_MS.first; ; pauseMs = Math.min(2 * pauseMs, POLL_MS.most)) {
      const sight = await look(account);
      const now = performance.now();
      if (!sight.isBusy || now - startedAt > SETTLE_MS) return sight;
      if (now - lookedAt > LOOK_AGAIN_MS) {
        lookedAt = now;
        lookAgain();
      }
      await sleep(pauseMs);
    }
  }

  /** Sets the clock to a time. */
  async function moveTo(at: Date): Promise<void> {
    const [ahead, now] = [await clockAheadMs(db), await databaseTime(db)];
    await setClockAhead(db, ahead + Math.max(0, Math.ceil(at.getTime() - now)));
    await clockMoved();
    lookAgain();
  }

  const stateOf = async ({ now, events }: Sight): Promise<ClockState> => ({
    now,
    next: events,
    aheadMs: await clockAheadMs(db),
  });

  /** Gives receivers time to report before their deadline passes. @returns what can be seen then */
  async function awaitReports(account: Account, sight: Sight): Promise<Sight> {
    const [first] = sight.events;
    const giveUpAt = performance.now() + REPORT_MS;
    let seen = sight;
    while (seen.events[0]?.reason === 'ack_deadline' && seen.events[0].jobId === first?.jobId) {
      if (performance.now() > giveUpAt) return seen;
      await sleep(POLL_MS.most);
      seen = await settle(account);
    }
    return seen;
  }

  async function travel(account: Account, to: Travel): Promise<Travelled> {
    const { drains = false } = to;
    let sight = await settle(account);
    const until = endOf(to, sight.now);
    const passed: ClockEvent[] = [];
    let isThrough = false;
    for (let step = 0; step < MAX_STEPS && !isThrough && !sight.isBusy; step += 1) {
      if (drains) sight = await awaitReports(account, sight);
      const [next] = sight.events;
      const isLast =
        next === undefined || (until !== null && next.at > until) || (drains && next.reason === 'lifetime');
      if (isLast || sight.isBusy) {
        isThrough = isLast;
        break;
      }
      await moveTo(next.at);
      passed.push(...sight.events.filter(({ at }) => at <= next.at));
      sight = await settle(account);
      isThrough = until === null && !drains;
    }
    if (until !== null && isThrough && !sight.isBusy) {
      await moveTo(until);
      sight = await settle(account);
    }
    return { clock: await stateOf(sight), passed, isSettled: isThrough && !sight.isBusy };
  }

  return {
    read: async (account) => stateOf(await look(account)),
    travel: (account, to) => inTurn(() => travel(account, to)),
    reset: (account) =>
      inTurn(async () => {
        await settle(account);
        await setClockAhead(db, 0);
        await clockMoved();
        lookAgain();
        return stateOf(await look(account));
      }),
  };
}

function isTimed(reason: string): reason is ClockEventReason {
  return (CLOCK_EVENT_REASONS as readonly string[]).includes(reason);
}

function eventOf({ at, queue, jobId }: NextMoment, reason: 'ack_deadline' | 'lifetime'): ClockEvent {
  const what = reason === 'ack_deadline' ? 'Its report must come' : 'It must be delivered';
  return { at, reason, message: `${what} before ${at.toISOString()}.`, queue, jobId };
}

/**
 * @returns null without a given end
 * @throws JobferryError `invalid_request` for an end that is not ahead, or too far
 */
function endOf({ byMs, to }: Travel, now: Date): Date | null {
  const ms = byMs ?? (to === undefined ? null : to.getTime() - now.getTime());
  if (ms === null) return null;
  if (ms >= 0 && ms <= MAX_TRAVEL_MS) return new Date(now.getTime() + ms);
  const isPast = `the clock is already at ${now.toISOString()}; only a reset moves it back`;
  throw new JobferryError('invalid_request', ms < 0 ? isPast : 'the clock moves by ten years at most');
}
