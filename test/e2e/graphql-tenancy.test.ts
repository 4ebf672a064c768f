import { beforeAll, describe, expect, it } from 'vitest';
import { createAccount } from '../support/account.ts';
import { createApi } from '../support/api.ts';
import { createGraphQLClient } from '../support/graphql.ts';
import { openReceiver, startService } from '../support/service.ts';
import { UNKNOWN_ID } from '../support/shapes.ts';

/** I-31 and G19: another account's id answers, to the byte, what an id that never was answers. */

const KEY = 'key-of-the-bootstrap-account';
const { api, jobferry, databaseUrl } = await startService({ BOOTSTRAP_API_KEY: KEY });
const owner = createGraphQLClient(jobferry.baseUrl, KEY);
const { key: strangerKey } = await createAccount(databaseUrl);
const stranger = createGraphQLClient(jobferry.baseUrl, strangerKey);
const strangerApi = createApi(jobferry.baseUrl, strangerKey);

interface Things {
  queue: string;
  queueName: string;
  job: string;
  waitingJob: string;
  deadLetter: string;
  fingerprint: string;
  action: string;
  key: string;
  auditCursor: string;
  actionCursor: string;
}
const NEVER: Things = {
  queue: UNKNOWN_ID,
  queueName: 'never-made',
  job: UNKNOWN_ID,
  waitingJob: UNKNOWN_ID,
  deadLetter: UNKNOWN_ID,
  fingerprint: 'ffffffffffffffff',
  action: UNKNOWN_ID,
  key: UNKNOWN_ID,
  auditCursor: '',
  actionCursor: '',
};
let theirs: Things;

/** Something of the stranger's own, before and after what is the owner's. */
async function leaveTraces(): Promise<void> {
  await stranger.query('mutation { createApiKey { __typename } cancelJobs(filter: {}, all: true) { __typename } }');
}

beforeAll(async () => {
  await leaveTraces();
  const receiver = await openReceiver({ status: 500 });
  const queue = await api.createQueue({ name: 'secret-queue', webhookUrl: receiver.url, maxAttempts: 1 });
  const dead = await api.publish(queue.name, { payload: { customer: 42 } });
  await api.waitForStatus(dead.id, 'dead');
  const waiting = await api.publish(queue.name, { payload: { customer: 43 }, delay: 3600 });
  const { account, deadLetters } = await owner.query(
    '{ account { apiKeys { id } } deadLetters { nodes { id fingerprint } } }',
  );
  const { replayDeadLetters } = await owner.query(
    `mutation M($id: ID!) {
      replayDeadLetters(queueId: $id, filter: { fingerprints: ["unknown"] }) {
        ... on BulkActionPayload { action { id } } ... on Error { message }
      }
    }`,
    { id: queue.id },
  );
  const cursors = await owner.query('{ auditLog { edges { cursor } } bulkActions { edges { cursor } } }');
  theirs = {
    queue: queue.id,
    queueName: queue.name,
    job: dead.id,
    waitingJob: waiting.id,
    deadLetter: deadLetters.nodes[0].id,
    fingerprint: deadLetters.nodes[0].fingerprint,
    action: replayDeadLetters.action.id,
    key: account.apiKeys[0].id,
    auditCursor: cursors.auditLog.edges[0].cursor,
    actionCursor: cursors.bulkActions.edges[0].cursor,
  };
  // This cursor has their place in the list, with an id that nothing has.
  NEVER.auditCursor = neighbour(theirs.auditCursor);
  NEVER.actionCursor = neighbour(theirs.actionCursor);
  await leaveTraces();
});

/** A cursor whose last digit is another one. */
function neighbour(cursor: string): string {
  const text = Buffer.from(cursor, 'base64').toString('latin1');
  const at = text.search(/[0-9a-f]{24}/) + 23;
  const changed = `${text.slice(0, at)}${text[at] === '0' ? '1' : '0'}${text.slice(at + 1)}`;
  return Buffer.from(changed, 'latin1').toString('base64url');
}

const RESULT = '{ __typename ... on Error { message } }';
const QUERIES: [name: string, document: (things: Things) => string][] = [
  ['queue by id', ({ queue }) => `{ queue(id: "${queue}") { id name } }`],
  ['queue by name', ({ queueName }) => `{ queue(name: "${queueName}") { id } }`],
  ['queue by id and name', ({ queue, queueName }) => `{ queue(id: "${queue}", name: "${queueName}") { id } }`],
  ['queues', ({ queueName }) => `{ queues(search: "${queueName}") { totalCount nodes { id } } }`],
  ['job', ({ job }) => `{ job(id: "${job}") { id payload queue { id } attempts { error } deadLetter { id } } }`],
  ['jobs of a queue', ({ queue }) => `{ jobs(filter: { queueIds: ["${queue}"] }) { totalCount nodes { id } } }`],
  [
    'jobs of a queue name',
    ({ queueName }) => `{ jobs(filter: { queueNames: ["${queueName}"] }) { totalCount nodes { id } } }`,
  ],
  [
    'jobs by payload',
    ({ queue }) =>
      `{ jobs(filter: { queueIds: ["${queue}"], payload: { path: "customer", value: 42 } }) { nodes { id } } }`,
  ],
  ['count', ({ queue }) => `{ count(filter: { queueIds: ["${queue}"] }) { count exact } }`],
  [
    'timeline of jobs',
    ({ queue }) => `{ jobTimeline(filter: { queueIds: ["${queue}"] }, bucketSeconds: 86400) { pending dead } }`,
  ],
  ['jobs by ids', ({ job }) => `{ jobs(filter: { ids: ["${job}"] }) { totalCount nodes { id } } }`],
  [
    'attempts',
    ({ queue }) => `{ attempts(filter: { queueIds: ["${queue}"] }) { totalCount nodes { error job { id } } } }`,
  ],
  [
    'counts',
    ({ queue }) =>
      `{ jobGroups(by: [QUEUE, STATE], filter: { queueIds: ["${queue}"] }) { jobCount groups { count } } }`,
  ],
  [
    'counts by payload',
    ({ queue }) =>
      `{ jobGroups(by: [PAYLOAD], path: "customer", filter: { queueIds: ["${queue}"] }) { groups { value count } } }`,
  ],
  [
    'dead letters by ids',
    ({ deadLetter }) => `{ deadLetters(filter: { ids: ["${deadLetter}"] }) { totalCount nodes { id } } }`,
  ],
  [
    'dead letters by payload',
    ({ queue }) =>
      `{ deadLetters(filter: { queueIds: ["${queue}"], payload: { path: "customer", value: 42 } }) { nodes { id } } }`,
  ],
  [
    'error groups across queues',
    ({ queue }) =>
      `{ errorGroups(acrossQueues: true, by: ANSWER, filter: { queueIds: ["${queue}"] }) { count queues { count queue { name } } } }`,
  ],
  [
    'a hint',
    ({ queue }) => `{ jobs(filter: { queueIds: ["${queue}"], payload: { path: "Customer", value: 1 } }) { hint } }`,
  ],
  ['dead letters', ({ queue }) => `{ deadLetters(filter: { queueIds: ["${queue}"] }) { totalCount nodes { id } } }`],
  [
    'dead letters of a group',
    ({ fingerprint }) => `{ deadLetters(filter: { fingerprints: ["${fingerprint}"] }) { totalCount nodes { id } } }`,
  ],
  ['error groups', ({ queue }) => `{ errorGroups(filter: { queueIds: ["${queue}"] }) { fingerprint count } }`],
  ['payload paths', ({ queue }) => `{ payloadPaths(queueId: "${queue}") { value } }`],
  ['payload values', ({ queue }) => `{ payloadValues(queueId: "${queue}", path: "customer") { value } }`],
  ['bulk action', ({ action }) => `{ bulkAction(id: "${action}") { id } }`],
  ['audit log', ({ queue }) => `{ auditLog(targetId: "${queue}") { totalCount nodes { id } } }`],
];
const MUTATIONS: [name: string, document: (things: Things) => string][] = [
  ['updateQueue', ({ queue }) => `updateQueue(id: "${queue}", input: { maxAttempts: 2 })`],
  ['deleteQueue', ({ queue }) => `deleteQueue(id: "${queue}")`],
  ['pauseQueue', ({ queue }) => `pauseQueue(id: "${queue}")`],
  ['resumeQueue', ({ queue }) => `resumeQueue(id: "${queue}")`],
  ['purgeQueue', ({ queue }) => `purgeQueue(id: "${queue}")`],
  ['purgeQueue, counted', ({ queue }) => `purgeQueue(id: "${queue}", dryRun: true)`],
  ['endHold', ({ queue }) => `endHold(queueId: "${queue}")`],
  ['finishSecretRotation', ({ queue }) => `finishSecretRotation(queueId: "${queue}")`],
  ['rotateSigningSecret', ({ queue }) => `rotateSigningSecret(queueId: "${queue}")`],
  ['publishJob', ({ queueName }) => `publishJob(queue: "${queueName}", input: { payload: {} })`],
  ['ackJob', ({ job }) => `ackJob(id: "${job}")`],
  ['nackJob', ({ job }) => `nackJob(id: "${job}")`],
  ['deferJob', ({ job }) => `deferJob(id: "${job}", retryAfter: 1)`],
  ['extendAck', ({ job }) => `extendAck(id: "${job}", seconds: 1)`],
  ['cancelJob', ({ waitingJob }) => `cancelJob(id: "${waitingJob}")`],
  ['runNow', ({ waitingJob }) => `runNow(id: "${waitingJob}")`],
  ['replayDeadLetter', ({ deadLetter }) => `replayDeadLetter(id: "${deadLetter}")`],
  ['replayDeadLetters', ({ queue }) => `replayDeadLetters(queueId: "${queue}", all: true)`],
  ['replayDeadLetters, counted', ({ queue }) => `replayDeadLetters(queueId: "${queue}", all: true, dryRun: true)`],
  ['pauseBulkAction', ({ action }) => `pauseBulkAction(id: "${action}")`],
  ['resumeBulkAction', ({ action }) => `resumeBulkAction(id: "${action}")`],
  ['cancelBulkAction', ({ action }) => `cancelBulkAction(id: "${action}")`],
  ['revokeApiKey', ({ key }) => `revokeApiKey(id: "${key}")`],
];

/** Both answers with the ids taken out: a document may well repeat what it was given. */
async function compare(document: (things: Things) => string): Promise<[foreign: string, never: string]> {
  const foreign = await stranger.send(document(theirs));
  const never = await stranger.send(document(NEVER));
  expect(foreign.status).toBe(never.status);
  const neutral = (text: string, things: Things) =>
    Object.values(things).reduce((rest, value) => rest.replaceAll(value, '*'), text);
  return [neutral(foreign.text, theirs), neutral(never.text, NEVER)];
}

describe('a cursor of another account', () => {
  it.each([
    ['auditLog', 'after', 'first', 'auditCursor'],
    ['auditLog', 'before', 'last', 'auditCursor'],
    ['bulkActions', 'after', 'first', 'actionCursor'],
    ['bulkActions', 'before', 'last', 'actionCursor'],
  ] as const)('a cursor of another account is like an unknown one in %s, %s it', async (list, where, size, cursor) => {
    const document = (things: Things) =>
      `{ ${list}(${where}: "${things[cursor]}", ${size}: 5) { totalCount nodes { id } pageInfo { hasNextPage hasPreviousPage } } }`;
    const [foreign, never] = await compare(document);
    // Fields that are waited for may come in another order.
    expect(JSON.parse(foreign)).toEqual(JSON.parse(never));
    expect(foreign).not.toContain('errors');
  });
});

describe('processes of the service', () => {
  it('are shown to the account of its operator, which is the first one', async () => {
    const document = '{ instances { role inFlight capacity } }';
    expect((await owner.query(document)).instances).toHaveLength(1);
    expect((await stranger.query(document)).instances).toEqual([]);
  });
});

describe('of another account', () => {
  it.each(QUERIES)('%s', async (_name, document) => {
    const [foreign, never] = await compare(document);
    expect(foreign).toBe(never);
    // And the owner sees something there, or the comparison proves nothing.
    expect((await owner.send(document(theirs))).text).not.toBe((await stranger.send(document(theirs))).text);
  });

  it.each(MUTATIONS)('%s', async (_name, document) => {
    const [foreign, never] = await compare((things) => `mutation { result: ${document(things)} ${RESULT} }`);
    expect(foreign).toBe(never);
    expect(foreign).toContain('NotFoundError');
  });

  it.each([
    ['jobUpdated of a job', (things: Things) => `jobUpdated(jobId: "${things.job}") { more }`],
    ['jobUpdated of a queue', (things: Things) => `jobUpdated(queueId: "${things.queue}") { more }`],
    ['queueStats', (things: Things) => `queueStats(queueId: "${things.queue}") { queues { id } }`],
    ['bulkActionProgress', (things: Things) => `bulkActionProgress(id: "${things.action}") { action { id } }`],
  ])('%s', async (_name, document) => {
    const answers = [];
    for (const things of [theirs, NEVER]) {
      const subscription = stranger.subscribe(`subscription { ${document(things)} }`);
      answers.push(await subscription.next());
      subscription.close();
    }
    // The id is that of the request, and differs in any case.
    const [foreign, never] = answers.map((answer) => JSON.stringify(answer).replace(/"requestId":"[^"]+"/, ''));
    expect(foreign).toBe(never);
    expect(answers[0]?.errors?.[0]?.message).toMatch(/not found/);
  });

  it('live shows nothing of it', async () => {
    const events = [];
    for (const { queue, job, action } of [theirs, NEVER]) {
      const subscription = stranger.subscribe(
        `subscription S($watch: WatchInput!) { live(watch: $watch) { __typename } }`,
        { watch: { queueIds: [queue], jobIds: [job], actionIds: [action] } },
      );
      events.push(await subscription.next());
      subscription.close();
    }
    expect(events[0]).toEqual(events[1]);
    expect(events[0]).toEqual({ data: { live: [] } });
  });

  it('nothing of all this has changed anything', async () => {
    expect((await api.getJob(theirs.waitingJob)).status).toBe('pending');
    const { queue, auditLog } = await owner.query(
      `{ queue(id: "${theirs.queue}") { paused maxAttempts } auditLog { nodes { action } } }`,
    );
    expect(queue).toEqual({ paused: false, maxAttempts: 1 });
    expect(auditLog.nodes.map((entry: { action: string }) => entry.action)).not.toContain('queue.pause');
    expect((await strangerApi.call<unknown[]>('GET', '/v1/queues')).body).toEqual([]);
  });
});
