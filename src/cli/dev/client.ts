import { createClient, unwrap } from '../../../packages/client/src/index.ts';
import { graphql, type ResultOf } from '../../../packages/query/schema/graphql.ts';
import { ask } from '../ask.ts';

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

const EVENT = graphql(`fragment Event on ClockEvent { at reason message queue jobId }`);
const CLOCK = graphql(`fragment ClockNow on Clock { now aheadSeconds next { ...Event } }`, [EVENT]);
export type WireEvent = ResultOf<typeof EVENT>;
export type WireClock = ResultOf<typeof CLOCK>;

const ReadClock = graphql(`query ReadClock { clock { ...ClockNow } }`, [CLOCK]);
const Travel = graphql(
  `mutation Travel($input: TravelInput!) {
    result: travelInTime(input: $input) {
      ... on TravelPayload { isSettled passed { ...Event } clock { ...ClockNow } }
      ... on Error { message }
    }
  }`,
  [EVENT, CLOCK],
);
type WireTravel = Extract<ResultOf<typeof Travel>['result'], { isSettled: boolean }>;
const ResetClock = graphql(
  `mutation ResetClock {
    result: resetClock { ... on ResetClockPayload { clock { ...ClockNow } } ... on Error { message } }
  }`,
  [CLOCK],
);
const RunNow = graphql(`
  mutation RunNow($id: ID!) { result: runNow(id: $id) { __typename ... on Error { message } } }
`);
const JobToRetry = graphql(`query JobToRetry($id: ID!) { job(id: $id) { state deadLetter { id } } }`);
const Replay = graphql(`
  mutation Replay($id: ID!) {
    result: replayDeadLetter(id: $id) { ... on JobPayload { job { id } } ... on Error { message } }
  }
`);
const NextDue = graphql(`
  query NextDue {
    jobs(first: 1, filter: { states: [SCHEDULED, RETRYING, HELD] }, orderBy: { field: SCHEDULED_FOR, direction: ASC }) {
      nodes { id scheduledFor }
    }
  }
`);
const IsPaused = graphql(`query IsPaused($id: ID!) { queue(id: $id) { paused } }`);

/** Each step of a travel may wait 20 s for a receiver, and there may be many. */
const TRAVEL_MS = 3_600_000;

/** For a developer, who waits: the defaults are for receivers that are down for longer. */
const DEV_SETTINGS = { backoffType: 'exponential', backoffDelay: 1 } as const;

export function createDevClient(url: string, apiKey: string): DevClient {
  const client = createClient({ baseUrl: url, apiKey });

  const runNow = async (id: string): Promise<string> => {
    const { result } = await ask(client, RunNow, { id });
    return 'message' in result ? result.message : `job ${id} is due now`;
  };

  return {
    async ensureQueue(name, webhookUrl) {
      const isThere = (await unwrap(client.queues.list())).some((queue) => queue.name === name);
      // Settings that were changed in the dashboard stay.
      const settings = isThere ? {} : DEV_SETTINGS;
      return (await client.queues.ensure({ name, webhookUrl, ...settings })).queue;
    },

    async retry(id) {
      const { job } = await ask(client, JobToRetry, { id });
      if (job === null) return `job ${id} is gone`;
      if (job.deadLetter === null) return runNow(id);
      const { result } = await ask(client, Replay, { id: job.deadLetter.id });
      return 'message' in result ? result.message : `job ${id} was dead and is replayed as ${result.job.id}`;
    },

    async runNext() {
      const { jobs } = await ask(client, NextDue, {});
      const [next] = jobs.nodes;
      return next === undefined
        ? 'no job waits for a later time'
        : `${await runNow(next.id)} instead of at ${next.scheduledFor}`;
    },

    async togglePause(queueIds) {
      const isPaused = async (id: string) => (await ask(client, IsPaused, { id })).queue?.paused ?? false;
      const all = (await Promise.all(queueIds.map(isPaused))).every((paused) => paused);
      await client.queues[all ? 'resumeMany' : 'pauseMany']({ ids: queueIds });
      return all ? 'resumed' : 'paused: publishes are accepted, and wait';
    },

    async clock() {
      const { clock } = await ask(client, ReadClock, {});
      if (clock === null) throw new Error('this server is not for development or tests: its clock cannot be moved');
      return clock;
    },

    async travel(input) {
      const { result } = await ask(client, Travel, { input }, { timeoutMs: TRAVEL_MS });
      if ('message' in result) throw new Error(result.message);
      return result;
    },

    async resetClock() {
      const { result } = await ask(client, ResetClock, {});
      if ('message' in result) throw new Error(result.message);
      return result.clock;
    },
  };
}
