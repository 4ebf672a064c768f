import type pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { unavailable } from '../../src/domain/errors.ts';
import { createGraphQL } from '../../src/graphql/index.ts';
import { createApp, listen } from '../../src/http/index.ts';
import { CredentialWatch } from '../../src/services/accounts/credential-watch.ts';
import { createStoredText } from '../../src/services/jobs/stored-text.ts';
import { createServices } from '../../src/services/services.ts';
import { createAccount } from '../support/account.ts';
import { createTestDatabase } from '../support/database.ts';
import { createGraphQLClient, type GraphQL } from '../support/graphql.ts';
import { openServices } from '../support/services.ts';

/** No N+1: however many queues and jobs are shown, the number of statements is the same. */

/** Reads of the key and of the clock, for all requests together; a busy machine meets it at any query. */
const ONCE_A_SECOND = /^\s*(select account\.id, account\.name|update api_key|select jobferry_now\(\) as now$)/;

let graphql: GraphQL;
let statements: string[] = [];

beforeAll(async () => {
  const { url } = await createTestDatabase();
  const { db, context } = openServices(url);
  // Every statement goes over a connection of a pool, whichever part of the code sends it.
  const watch = (client: pg.PoolClient) => {
    const query = client.query.bind(client) as (...args: unknown[]) => unknown;
    client.query = ((...args: unknown[]) => {
      const text = typeof args[0] === 'string' ? args[0] : (args[0] as { text?: string })?.text;
      if (text !== undefined && !ONCE_A_SECOND.test(text)) statements.push(text);
      return query(...args);
    }) as typeof client.query;
  };
  db.pool.on('connect', watch);
  db.readingPool.on('connect', watch);
  const services = createServices(context);
  const { readingPrisma, plans } = context;
  const stored = createStoredText(db);
  const notHere = () => {
    throw new Error('not in this test');
  };
  const full = () => {
    throw unavailable('the account has too many live subscribers', 'nothing');
  };
  const live = { watch: notHere, admit: full };
  const log = {
    error: (fields: object) => {
      throw new Error(JSON.stringify(fields));
    },
  };
  const shared = { readingPrisma, stored, plans, live, credentials: new CredentialWatch(db) };
  const endpoint = createGraphQL({ services, ...shared }, { graphiql: true, log });
  const app = createApp({
    services,
    config: { maxBodyBytes: 1_048_576, signatureHeader: 'x-service-signature', templates: {} },
    log,
    readiness: async () => ({ ready: true, checks: {} }),
    graphql: endpoint,
  });
  const listening = await listen(app, { host: '127.0.0.1', port: 0 });
  afterAll(() => listening.close());
  const { id, key } = await createAccount(url);
  graphql = createGraphQLClient(listening.url, key);
  await db.query(
    `insert into queue (account_id, name, webhook_url, signing_secret, max_attempts, max_defers, concurrency, dlq_enabled,
                        mode, rate_limit_window, ack_timeout, ack_timeout_action, backoff_type, backoff_delay)
     select $1, 'queue-' || n, 'http://127.0.0.1:9/', 's', 3, 50, 5, true, 'standard', 60, 300, 'retry', 'fixed', 2
       from generate_series(1, 20) n`,
    [id],
  );
  await db.query(
    `insert into job (account_id, queue_id, status, attempts, max_attempts, backoff_type, backoff_delay, payload,
                      scheduled_for, deliver_by, created_at, dead_reason, history_count)
     select account_id, id, status, 1, 3, 'fixed', 2, '{"n":1}', jobferry_now(), jobferry_now() + interval '1 day',
            jobferry_now(), case when status = 'dead' then 'attempts_exhausted' end, 1
       from queue, unnest(array['pending', 'dead']) status, generate_series(1, 10) where account_id = $1`,
    [id],
  );
  await db.query(
    `insert into attempt (job_id, ordinal, queue_id, attempt, status, webhook_status_code, "timestamp", duration_ms, wait_ms)
     select id, 1, queue_id, 1, 'failed', 500, jobferry_now(), 5, 5 from job`,
  );
  await db.query(
    `insert into dead_letter (job_id, queue_id, reason, fingerprint, dead_at)
     select id, queue_id, dead_reason, 'f', jobferry_now() from job where status = 'dead'`,
  );
  await db.query(
    `with made as (
       insert into member (account_id, issuer, subject, role, may_view_payloads)
       select $1, 'https://id.example.com/', 'person-' || n, 'viewer', false from generate_series(1, 20) n
       returning id, account_id
     )
     insert into session (account_id, member_id, hash, expires_at)
     select account_id, id, encode(sha256(id::bytea), 'hex'), now() + interval '1 hour' from made`,
    [id],
  );
  await db.query(
    `insert into bulk_action (account_id, kind, selection, matched, requested_by, status, finished_at)
     select $1, 'cancel_jobs', '{}', 0, 'test', 'completed', now() from generate_series(1, 20)`,
    [id],
  );
  await db.query(
    `select jobferry_audit($1, '{"type":"operator","id":null,"label":"operator"}', 'queue.update', 'queue', 'x')
       from generate_series(1, 20)`,
    [id],
  );
});

const HEAVIEST = `query Dashboard($queues: Int!, $jobs: Int!) {
  queues(first: $queues) {
    totalCount
    nodes {
      id name paused hold { until } oldestDueSeconds inFlight rateWindow { used }
      depth { due scheduled retrying held processing awaitingAck completed dead }
      timeline { at success failed duration { p50 p95 p99 } wait { p50 p95 p99 } }
      health { answered5xx warnings { message } }
      errorGroups { fingerprint count }
    }
  }
  jobs(first: $jobs) {
    nodes {
      id status payloadText queue { name }
      attempts { status webhookStatusCode durationMs }
      waiting { reason earliestAt }
      deadLetter { id reason }
    }
  }
}`;

// biome-ignore lint/suspicious/noExplicitAny: each document has a shape of its own
type Answer = any;

/**
 * Statements of one operation. The smallest number of three runs after a first one: on a busy machine a cache may pass
 * its time during any of them, and be filled again.
 */
async function statementsOf(document: string, variables: object = {}, check: (data: Answer) => void = () => undefined) {
  await graphql.query(document, variables);
  let fewest: string[] | null = null;
  for (let run = 0; run < 3; run += 1) {
    statements = [];
    check(await graphql.query(document, variables));
    if (fewest === null || statements.length < fewest.length) fewest = statements;
  }
  return fewest ?? [];
}

it('sends at most 10 statements for the heaviest dashboard, and no more for more of it', async () => {
  const few = await statementsOf(HEAVIEST, { queues: 2, jobs: 2 });
  const many = await statementsOf(HEAVIEST, { queues: 20, jobs: 50 });
  // Queues that are on the page need not be read again for its jobs.
  expect(many.length, many.join('\n')).toBeLessThanOrEqual(few.length);
  expect(many.length, many.join('\n')).toBeLessThanOrEqual(10);
});

it('sends at most 9 statements for the dashboard of the issue: depth, timeline and jobs with attempts', async () => {
  const document = `{
    queues(first: 10) { totalCount nodes {
      id name paused inFlight oldestDueSeconds
      depth { due scheduled retrying held processing awaitingAck completed dead }
      timeline { at success failed deferred duration { p50 p95 } wait { p50 p95 } }
    } }
    jobs(first: 50) { nodes { id status payload attempts { status error durationMs } waiting { reason } } }
  }`;
  const sent = await statementsOf(document);
  expect(sent.length, sent.join('\n')).toBeLessThanOrEqual(9);
});

it.each<[what: string, most: number, selection: string]>([
  ['members', 2, 'members(first: $n) { totalCount nodes { subject role } }'],
  ['sessions', 4, 'sessions(first: $n) { totalCount nodes { label isCurrent member { subject } apiKey { name } } }'],
  ['audit entries', 2, 'auditLog(first: $n) { totalCount nodes { action actor memberId before after } }'],
  ['bulk actions', 2, 'bulkActions(first: $n) { totalCount nodes { kind status selection matched } }'],
])('shows twenty %s in as many statements as two, at most %i', async (_what, most, selection) => {
  const counted = (n: number) =>
    statementsOf(`query Q($n: Int!) { list: ${selection} }`, { n }, ({ list }) => expect(list.nodes).toHaveLength(n));
  const [few, many] = [await counted(2), await counted(20)];
  expect(many.length, many.join('\n')).toBeLessThanOrEqual(few.length);
  expect(few.length, few.join('\n')).toBeLessThanOrEqual(most);
});

it('reads sizes and previews of payloads of any length in one statement', async () => {
  const previews = [1, 3, 50, 2000].map((max) => `p${max}: payloadPreview(max: ${max})`).join(' ');
  statements = [];
  const { jobs } = await graphql.query(`{ jobs(first: 5) { nodes { payloadBytes ${previews} } } }`);
  const shown = { payloadBytes: 7, p1: '{', p3: '{"n', p50: '{"n":1}', p2000: '{"n":1}' };
  expect(jobs.nodes).toEqual(Array(5).fill(shown));
  expect(statements.filter((text) => text.includes('octet_length(payload)'))).toHaveLength(1);
});

it('shows the first jobs of many queues in as many statements as of one', async () => {
  const document =
    'query Q($n: Int!) { queues(first: $n) { nodes { id jobs(first: 5) { nodes { id attempts { error } } } } } }';
  const counted = (n: number) =>
    statementsOf(document, { n }, ({ queues }) => {
      expect(queues.nodes.every((queue: { jobs: { nodes: object[] } }) => queue.jobs.nodes.length === 5)).toBe(true);
    });
  const [one, many] = [await counted(1), await counted(20)];
  expect(many).toHaveLength(one.length);
});

const RECENT = new Date(Math.floor(Date.now() / 300_000) * 300_000 - 600_000).toISOString();

it.each<[what: string, most: number, document: string]>([
  ['a total without its items', 1, '{ deadLetters(first: 1) { totalCount totalCountExact } }'],
  ['a total that the page shows', 1, '{ queues(first: 100) { totalCount nodes { id } } }'],
  [
    // The third is about its last failure, and the fourth about the error of that: only if most of its hour failed.
    'the state of a queue that fails, and its last minutes',
    4,
    `{ queue(name: "queue-1") {
         id paused inFlight oldestDueSeconds hold { askedBy { id } probe { id } } depth { due } health { answered5xx }
         timeline(from: "${RECENT}") { success published }
       } }`,
  ],
  [
    'what a job belongs to',
    3,
    '{ jobs(first: 20) { nodes { id queue { name } deadLetter { deadAt } waiting { reason } cancelledBy } } }',
  ],
  [
    'error groups with the last answers',
    2,
    '{ errorGroups { count sample { queue { name } lastAttempt { error } } } }',
  ],
  ['when jobs were published', 2, '{ jobTimeline { at pending completed dead } }'],
  [
    'several searches of the same jobs',
    6,
    '{ jobs(first: 5) { nodes { id } } count { count } jobTimeline { at dead } jobGroups(by: [STATE]) { jobCount } }',
  ],
])('reads %s with at most %i statements', async (_what, most, document) => {
  const sent = await statementsOf(document);
  expect(sent.length, sent.join('\n')).toBeLessThanOrEqual(most);
});

it.each([
  ['live(watch: { allQueues: true, auditLog: true }) { __typename }'],
  [`queueStats(queueId: "${'f'.repeat(24)}") { queues { id } }`],
  [`bulkActionProgress(id: "${'f'.repeat(24)}") { action { id } }`],
])('a subscription above the bound is refused without a statement: %s', async (field) => {
  statements = [];
  const event = await graphql.subscribe(`subscription { ${field} }`).next();
  expect(event.errors).toMatchObject([{ message: 'the account has too many live subscribers' }]);
  expect(statements).toEqual([]);
});
