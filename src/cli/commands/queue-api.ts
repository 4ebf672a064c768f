import { type JobferryClient, type QueueOutcome, unwrap } from '../../../packages/client/src/index.ts';
import { graphql, type ResultOf } from '../../../packages/query/schema/graphql.ts';
import { durationText } from '../../domain/duration.ts';
import { TEST_PAYLOAD } from '../../domain/receiver-examination.ts';
import { ask } from '../ask.ts';
import { queueByNameOrId, queueIn } from './api.ts';
import { CommandError, type Given, type OptionTable, type Result } from './command.ts';
import { nextPage, pageOf } from './database.ts';
import { type Done, type QueueAction, queuesOf, resultOf, sentenceOf } from './many-queues.ts';
import { type Column, facts, printable, table, time } from './output.ts';
import { breakerFacts, stateText } from './queue-breaker.ts';
import { examinationText } from './queue-check.ts';

/** Commands about queues through the API. */

const LISTED_QUEUE = graphql(`
  fragment ListedQueue on Queue {
    id name webhookUrl mode concurrency inFlight oldestDueSeconds pause { by since } hold { until reason byBreaker }
  }
`);
type WireQueue = ResultOf<typeof LISTED_QUEUE>;

const ListQueues = graphql(
  `query ListQueues($after: String, $search: String) {
    queues(first: 100, after: $after, search: $search) {
      nodes { ...ListedQueue } pageInfo { endCursor hasNextPage }
    }
  }`,
  [LISTED_QUEUE],
);

const TagsOfQueues = graphql(`
  query TagsOfQueues($after: String) {
    queues(first: 100, after: $after) { nodes { id tags } pageInfo { endCursor hasNextPage } }
  }
`);

const ShowQueue = graphql(
  `query ShowQueue($id: ID!) {
    queue(id: $id) {
      ...ListedQueue tags maxAttempts backoffType backoffDelay rateLimitMax rateLimitWindow payloadsEncrypted
      standardWebhooks signingSecretRotatesAt breaker { failures seconds openedAt failedProbes }
      health { warnings { message } } depth { due scheduled retrying held processing awaitingAck dead }
    }
  }`,
  [LISTED_QUEUE],
);

const COLUMNS: readonly Column<WireQueue>[] = [
  { title: 'ID', of: ({ id }) => id },
  { title: 'NAME', of: ({ name }) => name },
  { title: 'STATE', of: stateOf },
  { title: 'IN FLIGHT', of: ({ inFlight, concurrency }) => `${inFlight ?? 0}/${concurrency}`, isNumber: true },
  { title: 'OLDEST DUE', of: ({ oldestDueSeconds }) => sinceSeconds(oldestDueSeconds) },
];

export async function listThroughApi(client: JobferryClient, { options }: Given<OptionTable>): Promise<Result> {
  const given = options as unknown as Record<'limit' | 'after' | 'name', string | undefined>;
  const page = pageOf(given);
  const queues: WireQueue[] = [];
  let cursor: string | null = null;
  let isReached = page.after === null;
  do {
    const variables = { after: cursor, search: given.name ?? null };
    const read: ResultOf<typeof ListQueues> = await ask(client, ListQueues, variables);
    for (const queue of read.queues.nodes) {
      if (isReached) queues.push(queue);
      isReached ||= queue.id === page.after;
    }
    cursor = read.queues.pageInfo.hasNextPage ? read.queues.pageInfo.endCursor : null;
  } while (cursor !== null && queues.length < page.limit);
  if (!isReached) throw new CommandError(`--after ${page.after}: this queue does not exist, or was deleted`);
  const rows = queues.slice(0, page.limit);
  return { json: rows, text: table(COLUMNS, rows, 'No queues.') + nextPage(rows, page) };
}

/** @returns the tags of all queues, by id */
export async function tagsOfQueues(client: JobferryClient): Promise<Map<string, string[]>> {
  const tags = new Map<string, string[]>();
  let after: string | null = null;
  do {
    const { queues }: ResultOf<typeof TagsOfQueues> = await ask(client, TagsOfQueues, { after });
    for (const queue of queues.nodes) tags.set(queue.id, queue.tags);
    after = queues.pageInfo.hasNextPage ? queues.pageInfo.endCursor : null;
  } while (after !== null);
  return tags;
}

export async function showThroughApi(client: JobferryClient, { argument }: Given<OptionTable>): Promise<Result> {
  const { id } = await queueByNameOrId(client, argument);
  const { queue } = await ask(client, ShowQueue, { id });
  if (queue === null) throw new CommandError(`queue ${printable(argument)} does not exist any more`);
  const { depth, rateLimitMax, breaker } = queue;
  const rotates = at(queue.signingSecretRotatesAt);
  const text = facts([
    ['id', queue.id],
    ['name', queue.name],
    ['webhook', queue.webhookUrl],
    ['mode', queue.mode.toLowerCase()],
    ['tags', queue.tags.join(', ') || undefined],
    ['state', stateOf(queue)],
    ['paused since', at(queue.pause?.since)],
    ['paused by', queue.pause?.by],
    ['reason of the hold', queue.hold?.reason ?? undefined],
    ...breakerFacts(breaker && { ...breaker, nextProbeAt: queue.hold?.until }),
    ...(queue.health?.warnings.map(({ message }) => ['warning', message] as const) ?? []),
    ['due', depth?.due],
    ['oldest due', sinceSeconds(queue.oldestDueSeconds)],
    ['waiting for later', depth === null ? undefined : depth.scheduled + depth.retrying + depth.held],
    ['in flight', `${queue.inFlight ?? 0} of ${queue.concurrency}`],
    ['dead', depth?.dead],
    ['rate limit', rateLimitMax === null ? null : `${rateLimitMax} in ${queue.rateLimitWindow} s`],
    ['attempts of a job', queue.maxAttempts],
    ['back-off', `${queue.backoffType.toLowerCase()}, ${queue.backoffDelay} s`],
    ['payloads encrypted', queue.payloadsEncrypted],
    ['Standard Webhooks', queue.standardWebhooks],
    ['next signing secret', rotates === undefined ? undefined : `takes over at ${time(rotates)}`],
  ]);
  return { json: { queue }, text };
}

/** A time of GraphQL; undefined if there is none. */
function at(text: string | null | undefined): Date | undefined {
  return text == null ? undefined : new Date(text);
}

export function changeThroughApi(action: QueueAction) {
  return async (client: JobferryClient, { argument, options }: Given<OptionTable>): Promise<Result> => {
    const { receiver } = options as unknown as { receiver: string | undefined };
    const { choice, isOne } = await choiceOf(client, argument, receiver);
    const { queues } = await client.queues[`${action}Many`](choice);
    return resultOf(
      doneWith(queues, (name, changed) => sentenceOf(action, name, changed)),
      isOne,
    );
  };
}

/**
 * Chooses the queues of the argument, or those of a receiver.
 * @throws UsageError, CommandError if one does not exist
 */
export async function choiceOf(client: JobferryClient, argument: string, receiver: string | undefined) {
  const texts = queuesOf(argument, receiver);
  if (receiver !== undefined) return { choice: { receiver }, isOne: false };
  const live = await unwrap(client.queues.list());
  return { choice: { ids: texts.map((text) => queueIn(live, text).id) }, isOne: texts.length === 1 };
}

export function doneWith(
  queues: readonly QueueOutcome[],
  sentence: (name: string, changed: boolean) => string,
): Done[] {
  return queues.map(({ id, name: named, outcome }) => {
    const name = printable(named ?? id ?? '');
    const changed = outcome === 'CHANGED';
    const isGone = outcome === 'NOT_FOUND';
    return { id: id ?? '', changed, text: isGone ? `Queue ${name} does not exist any more.` : sentence(name, changed) };
  });
}

export async function checkThroughApi(
  client: JobferryClient,
  { argument, options }: Given<OptionTable>,
): Promise<Result> {
  const { payload = TEST_PAYLOAD } = options as unknown as { payload: string | undefined };
  const queue = await queueByNameOrId(client, argument);
  const seen = await client.queues.examineReceiver(queue.name, { payload });
  const findings = seen.map((finding) => ({
    ...finding,
    status: finding.status.toLowerCase() as 'ok' | 'warning' | 'failed' | 'skipped',
  }));
  const isFailure = findings.some(({ status }) => status === 'failed');
  const json = { ok: !isFailure, queueId: queue.id, webhookUrl: queue.webhookUrl, findings };
  return { json, text: examinationText(queue, findings), isFailure };
}

function stateOf({ pause, hold, oldestDueSeconds }: WireQueue): string {
  const holdUntil = hold === null ? null : new Date(hold.until);
  // A hold that is over lasts while a job probes the receiver, or until the breaker closes.
  const isOver = holdUntil !== null && holdUntil <= new Date();
  return stateText({
    isPaused: pause !== null,
    hold: hold && { isByBreaker: hold.byBreaker, isOver, isProbing: isOver },
    holdUntil,
    oldestDueMs: oldestDueSeconds === null ? null : oldestDueSeconds * 1000,
  });
}

function sinceSeconds(seconds: number | null): string | null {
  return seconds === null ? null : `${durationText(seconds)} ago`;
}
