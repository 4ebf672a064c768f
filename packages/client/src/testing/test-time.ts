import { readDuration } from '../../../../src/domain/duration.ts';
import type { JobferryClient } from '../types.ts';

/** Something that happened to a job, or will, because a time has come. */
export interface TimeEvent {
  /** The time. */
  at: Date;
  /**
   * Why: `DELAYED`, `BACKOFF`, `HELD`, `QUEUE_HELD`, `RATE_LIMIT` (the job can be delivered), `ACK_DEADLINE` (its
   * report is overdue), `LIFETIME` (it becomes dead).
   */
  reason: string;
  /** The reason as a sentence. */
  message: string;
  /** Name of the queue. */
  queue: string;
  /** Id of the job. */
  jobId: string;
}

/**
 * The clock of a Jobferry for tests. Each method lets time pass from event to event, and waits each time until what is
 * due has been delivered and answered. So all that happens in an hour takes milliseconds.
 */
export interface TestTime {
  /** Returns the present time of the clock. */
  now(): Promise<Date>;
  /** Returns what will happen next, earliest first. */
  upcoming(): Promise<TimeEvent[]>;
  /** Lets time pass until the next event. Returns what happened; nothing if no job waits for a later time. */
  next(): Promise<TimeEvent[]>;
  /** Lets time pass: by a number of milliseconds, or by a text such as `90s`, `2h` or `3d`. Returns what happened. */
  pass(duration: number | string): Promise<TimeEvent[]>;
  /** Lets time pass until then. Returns what happened. */
  until(time: Date): Promise<TimeEvent[]>;
  /**
   * Lets time pass until no job waits for a later time, or the next event is the end of a lifetime. Receivers in ack
   * mode have half a second to report before a deadline passes. Returns what happened, of up to twenty jobs of each
   * queue at a time.
   */
  drain(): Promise<TimeEvent[]>;
  /** Puts the clock back to that of the machine. */
  reset(): Promise<void>;
}

const EVENT = '{ at reason message queue jobId }';
const TRAVEL = `mutation ($input: TravelInput!) {
  travelInTime(input: $input) { ... on TravelPayload { isSettled passed ${EVENT} } ... on Error { message } } }`;

/** Each step may wait 20 s for a receiver, and there may be many. */
const TRAVEL_MS = 3_600_000;

type WireEvent = Omit<TimeEvent, 'at'> & { at: string };

/** Returns the clock of the service of a client. */
export function timeOf({ graphql: ask }: Pick<JobferryClient, 'graphql'>): TestTime {
  let hasMoved = false;

  async function travel(input: object): Promise<TimeEvent[]> {
    hasMoved = true;
    const { travelInTime: result } = await ask<{
      travelInTime: { message?: string; isSettled?: boolean; passed?: WireEvent[] };
    }>(TRAVEL, { input }, { timeoutMs: TRAVEL_MS });
    if (result.message !== undefined) throw new Error(result.message);
    if (result.isSettled !== true) {
      throw new Error('time stands still: after 20 s deliveries were still in flight, or due jobs were not claimed');
    }
    return (result.passed ?? []).map(toEvent);
  }

  async function clock(): Promise<{ now: string; next: WireEvent[] }> {
    const { clock: found } = await ask<{ clock: { now: string; next: WireEvent[] } }>(
      `{ clock { now next ${EVENT} } }`,
    );
    return found;
  }

  return {
    now: async () => new Date((await clock()).now),
    upcoming: async () => (await clock()).next.map(toEvent),
    next: () => travel({}),
    pass: async (duration) => {
      const ms = typeof duration === 'number' ? duration : readDuration(duration);
      if (ms === null || !Number.isFinite(ms))
        throw new TypeError(`a duration is a number of milliseconds, or a text such as 90s, 2h or 3d`);
      return travel({ bySeconds: ms / 1000 });
    },
    until: (time) => travel({ until: time.toISOString() }),
    drain: () => travel({ drain: true }),
    reset: async () => {
      if (hasMoved) await ask('mutation { resetClock { __typename } }');
      hasMoved = false;
    },
  };
}

function toEvent(event: WireEvent): TimeEvent {
  return { ...event, at: new Date(event.at) };
}
