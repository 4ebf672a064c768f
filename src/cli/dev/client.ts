import { createClient, unwrap } from '../../../packages/client/src/index.ts';

/** The parts of the API that `dev` uses: it is a normal client with the first account's key. */
export interface DevClient {
  /** Creates the queue, or lets the present one deliver to the URL. */
  ensureQueue(name: string, webhookUrl: string): Promise<{ id: string }>;
  /** Delivers a job now that has failed: a dead one as a replay. @returns a sentence */
  retry(jobId: string): Promise<string>;
  /** Makes the job due that is due next. @returns a sentence */
  runNext(): Promise<string>;
  /** Pauses the queues, or resumes them if all are paused. @returns a sentence */
  togglePause(queueIds: readonly string[]): Promise<string>;
  /** Returns the clock, and what happens next. */
  clock(): Promise<WireClock>;
  /** Lets time pass. @param input as the mutation `travelInTime` takes it */
  travel(input: { bySeconds?: number; until?: string; drain?: boolean }): Promise<WireTravel>;
  /** Puts the clock back to that of the machine. */
  resetClock(): Promise<WireClock>;
}

/** `ClockEvent` of GraphQL. */
export interface WireEvent {
  at: string;
  reason: string;
  message: string;
  queue: string;
  jobId: string;
}

/** `Clock` of GraphQL. */
export interface WireClock {
  now: string;
  aheadSeconds: number;
  next: WireEvent[];
}

/** `TravelPayload` of GraphQL. */
interface WireTravel {
  isSettled: boolean;
  passed: WireEvent[];
  clock: WireClock;
}

const EVENT = '{ at reason message queue jobId }';
const CLOCK = `{ now aheadSeconds next ${EVENT} }`;

/** Each step of a travel may wait 20 s for a receiver, and there may be many. */
const TRAVEL_MS = 3_600_000;

/** For a developer, who waits: the defaults are for receivers that are down for longer. */
const DEV_SETTINGS = { backoffType: 'exponential', backoffDelay: 1 } as const;

export function createDevClient(url: string, apiKey: string): DevClient {
  const client = createClient({ baseUrl: url, apiKey });
  const ask = client.graphql;

  const runNow = async (id: string): Promise<string> => {
    const query = 'mutation ($id: ID!) { runNow(id: $id) { __typename ... on Error { message } } }';
    const { runNow: result } = await ask<{ runNow: { message?: string } }>(query, { id });
    return result.message ?? `job ${id} is due now`;
  };

  return {
    async ensureQueue(name, webhookUrl) {
      const isThere = (await unwrap(client.queues.list())).some((queue) => queue.name === name);
      // Settings that were changed in the dashboard stay.
      const settings = isThere ? {} : DEV_SETTINGS;
      return (await client.queues.ensure({ name, webhookUrl, ...settings })).queue;
    },

    async retry(id) {
      const { job } = await ask<{ job: { state: string; deadLetter: { id: string } | null } | null }>(
        'query ($id: ID!) { job(id: $id) { state deadLetter { id } } }',
        { id },
      );
      if (job === null) return `job ${id} is gone`;
      if (job.deadLetter === null) return runNow(id);
      const query = `mutation ($id: ID!) {
        replayDeadLetter(id: $id) { ... on JobPayload { job { id } } ... on Error { message } } }`;
      const { replayDeadLetter: result } = await ask<{ replayDeadLetter: { job?: { id: string }; message?: string } }>(
        query,
        { id: job.deadLetter.id },
      );
      return result.message ?? `job ${id} was dead and is replayed as ${result.job?.id}`;
    },

    async runNext() {
      const { jobs } = await ask<{ jobs: { nodes: { id: string; scheduledFor: string }[] } }>(
        `{ jobs(first: 1, filter: { states: [SCHEDULED, RETRYING, HELD] }, orderBy: { field: SCHEDULED_FOR, direction: ASC }) {
          nodes { id scheduledFor } } }`,
      );
      const [next] = jobs.nodes;
      return next === undefined
        ? 'no job waits for a time'
        : `${await runNow(next.id)}, in place of ${next.scheduledFor}`;
    },

    async togglePause(queueIds) {
      const isPaused = async (id: string) => {
        const query = 'query ($id: ID!) { queue(id: $id) { pause { __typename } } }';
        return (await ask<{ queue: { pause: object | null } | null }>(query, { id })).queue?.pause != null;
      };
      const all = (await Promise.all(queueIds.map(isPaused))).every((paused) => paused);
      const field = all ? 'resumeQueue' : 'pauseQueue';
      for (const id of queueIds) await ask(`mutation ($id: ID!) { ${field}(id: $id) { __typename } }`, { id });
      return field === 'pauseQueue' ? 'paused: publishes are accepted, and wait' : 'resumed';
    },

    async clock() {
      const { clock } = await ask<{ clock: WireClock | null }>(`{ clock ${CLOCK} }`);
      if (clock === null) throw new Error('this server is not one for development: its clock cannot be moved');
      return clock;
    },

    async travel(input) {
      const query = `mutation ($input: TravelInput!) { travelInTime(input: $input) {
        ... on TravelPayload { isSettled passed ${EVENT} clock ${CLOCK} } ... on Error { message } } }`;
      const { travelInTime: result } = await ask<{ travelInTime: WireTravel & { message?: string } }>(
        query,
        { input },
        { timeoutMs: TRAVEL_MS },
      );
      if (result.message !== undefined) throw new Error(result.message);
      return result;
    },

    async resetClock() {
      const query = `mutation { resetClock { ... on ResetClockPayload { clock ${CLOCK} } ... on Error { message } } }`;
      const { resetClock: result } = await ask<{ resetClock: { clock: WireClock; message?: string } }>(query);
      if (result.message !== undefined) throw new Error(result.message);
      return result.clock;
    },
  };
}
