import { setTimeout as sleep } from 'node:timers/promises';
import type { JobferryClient } from '../../../packages/client/src/index.ts';
import { mayPass } from '../../../packages/client/src/verbs/poll.ts';
import { graphql, type ResultOf, type VariablesOf } from '../../../packages/query/schema/graphql.ts';
import { createLog } from '../../telemetry/log.ts';
import { ask } from '../ask.ts';
import { attemptLine } from '../dev/attempts.ts';
import { queueByNameOrId, withApi } from './api.ts';
import { CommandError, command } from './command.ts';
import { jsonOf } from './output.ts';
import { stopOnSignal } from './stop-on-signal.ts';
import { JOB_ARGUMENT, jobId } from './values.ts';

const DeadLetterOfJob = graphql(`query DeadLetterOfJob($id: ID!) { job(id: $id) { deadLetter { id } } }`);
const ReplayDeadLetter = graphql(`
  mutation ReplayDeadLetter($id: ID!) {
    result: replayDeadLetter(id: $id) { ... on JobPayload { job { id } } ... on Error { message } }
  }
`);

export const REPLAY = command({
  name: 'job replay',
  summary: 'Replay a dead job: create a new one with its payload and the present settings of its queue.',
  reach: 'api',
  options: {},
  argument: JOB_ARGUMENT,
  run: ({ argument }, environment) => {
    const id = jobId(argument);
    return withApi(environment, async (client) => {
      const { job } = await ask(client, DeadLetterOfJob, { id });
      if (job === null) throw new CommandError(`job ${id} does not exist, or its retention has passed`);
      if (job.deadLetter === null) throw new CommandError(`job ${id} has no dead letter`);
      const { result } = await ask(client, ReplayDeadLetter, { id: job.deadLetter.id });
      if (!('job' in result)) throw new CommandError(result.message);
      const { id: newId } = result.job;
      return { json: { id: newId, replayOf: id }, text: newId };
    });
  },
});

export const CANCEL = command({
  name: 'job cancel',
  summary: 'Cancel a job that is pending or awaiting an ack.',
  reach: 'api',
  options: {},
  argument: JOB_ARGUMENT,
  run: ({ argument }, environment) => {
    const id = jobId(argument);
    return withApi(environment, async (client) => {
      await client.jobs.cancel(id);
      return { json: { id, cancelled: true }, text: `Job ${id} is cancelled.` };
    });
  },
});

export const RUN = command({
  name: 'job run',
  summary: 'Run a waiting job now.',
  reach: 'api',
  options: {},
  argument: JOB_ARGUMENT,
  run: ({ argument }, environment) => {
    const id = jobId(argument);
    return withApi(environment, async (client) => {
      await client.jobs.runNow(id);
      return { json: { id }, text: `Job ${id} is due now.` };
    });
  },
});

const POLL_MS = 1000;

export const TAIL = command({
  name: 'job tail',
  summary: 'Print each attempt as it ends, with the beginning of the answer.',
  reach: 'api',
  options: {
    queue: { value: 'QUEUE', help: 'name or id of the queue; all if it is left out' },
    failed: { help: 'only attempts that failed or were nacked' },
    json: { help: 'print one JSON object for each attempt' },
  },
  isService: true,
  run: async ({ options: { queue, failed, json } }, environment) => {
    const stopping = new AbortController();
    stopOnSignal(Promise.resolve({ stop: async () => stopping.abort() }), createLog({ level: 'error' }));
    await withApi(environment, async (client) => {
      const queueIds = queue === undefined ? {} : { queueIds: [(await queueByNameOrId(client, queue)).id] };
      const filter = { ...queueIds, ...(failed ? { statuses: ['FAILED' as const, 'NACKED' as const] } : {}) };
      const print = json ? (attempt: WireAttempt) => console.log(jsonOf(attempt)) : printLine;
      await follow(client, filter, print, stopping.signal);
    });
    return null;
  },
});

const TailAttempts = graphql(`
  query TailAttempts($filter: AttemptFilter!, $after: String) {
    attempts(filter: $filter, first: 100, after: $after, orderBy: { field: ENDED_AT, direction: ASC }) {
      nodes { at attempt status durationMs webhookStatusCode error responseBody job { id queue { name } } }
      pageInfo { endCursor hasNextPage }
    }
  }
`);
type Page = ResultOf<typeof TailAttempts>['attempts'];
type WireAttempt = Page['nodes'][number];
type Filter = VariablesOf<typeof TailAttempts>['filter'];

const TailBegins = graphql(`query TailBegins { server { now } }`);

/** An attempt can be seen this much later than others that ended after it: its transaction ended later. */
const LATE_MS = 3000;

/** Prints each attempt that ends from now on, once. A service that restarts meanwhile is asked again. */
async function follow(
  client: JobferryClient,
  filter: Filter,
  print: (attempt: WireAttempt) => void,
  signal: AbortSignal,
): Promise<void> {
  const { server } = await ask(client, TailBegins, {});
  const begin = Date.parse(server.now);
  const seen = new Map<string, number>();
  let newest = begin;
  while (!signal.aborted) {
    const from = Math.max(begin, newest - LATE_MS);
    for (const [key, at] of seen) if (at < from) seen.delete(key);
    let after: string | null = null;
    do {
      const page: Page | null = await pageOf(
        client,
        { ...filter, at: { from: new Date(from).toISOString() } },
        after,
        signal,
      );
      for (const attempt of page?.nodes ?? []) {
        const key = `${attempt.job?.id} ${attempt.at}`;
        if (!seen.has(key)) print(attempt);
        seen.set(key, Date.parse(attempt.at));
        newest = Math.max(newest, Date.parse(attempt.at));
      }
      after = page?.pageInfo.hasNextPage === true ? page.pageInfo.endCursor : null;
    } while (after !== null);
    await sleep(POLL_MS, undefined, { signal }).catch(() => undefined);
  }
}

/** @returns null if the service cannot answer at the moment */
async function pageOf(client: JobferryClient, filter: Filter, after: string | null, signal: AbortSignal) {
  try {
    return (await ask(client, TailAttempts, { filter, after }, { signal })).attempts;
  } catch (error) {
    if (mayPass(error) || signal.aborted) return null;
    throw error;
  }
}

function printLine({ at, job, attempt, webhookStatusCode, error, durationMs, responseBody }: WireAttempt): void {
  const queue = job?.queue.name ?? '-';
  const seen = {
    at: new Date(at),
    accountId: '',
    jobId: job?.id ?? '-',
    queue,
    attempt,
    statusCode: webhookStatusCode,
    error,
    durationMs: durationMs ?? 0,
    answer: responseBody,
  };
  console.log(attemptLine(seen, queue.length));
}
