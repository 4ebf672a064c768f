// The cost of GraphQL fields on a database that seed.mjs has filled, beside their prices: time of database connections,
// and the longest that the service's event loop stood still.
//
//   DATABASE_URL=postgresql://… node rigs/bench/queries/prices.mjs [rounds]     10 by default
//
// Starts the service in this process; a thread sends the queries. Prints a Markdown table.
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';

const iso = (ms) => new Date(ms).toISOString();
const DAY = 86_400_000;
const START = Math.floor(Date.now() / 3_600_000) * 3_600_000;
/** Requests for the same timeline share a result for a second, so each round has an end of its own. */
const timeline = (days, bucketSeconds) => (round) =>
  `queues(first: 10) { nodes { timeline(from: "${iso(START - days * DAY)}", to: "${iso(START - (round + 3) * bucketSeconds * 1000)}", bucketSeconds: ${bucketSeconds}) { at success duration { p95 } } } }`;

const page = (filter, field = 'id') => `jobs(first: 25${filter}) { nodes { ${field} } }`;
/** So many queues are put in order. Those beyond the ten of the account have no jobs. */
const TROUBLE = 'queues by trouble, of 500';
const FIELDS = {
  'jobs, a page': page(''),
  'jobs, a page by a payload value': page(', filter: {payload: {path: "customer.id", value: 4711}}'),
  'jobs, a page by a text that none has': page(', filter: {errorContains: "no such error"}'),
  'jobs, in the order of scheduledFor': page(', orderBy: {field: SCHEDULED_FOR, direction: ASC}'),
  'jobs, a page with payloads': page('', 'payload'),
  'jobs, a page with attempts': page('', 'attempts { status error durationMs }'),
  'jobs { totalCount }': 'jobs(first: 1) { totalCount }',
  'jobs { totalCount }, by a payload value': 'jobs(first: 1, filter: {payload: {path: "order.status", value: "paid"}}) { totalCount }',
  count: 'count { count exact }',
  'count, of two in three payloads': 'count(filter: {payload: {path: "order.status", value: "paid"}}) { count }',
  'count, of a key that none has': 'count(filter: {idempotencyKeyContains: "zz1zz"}) { count }',
  'jobTimeline, all of a day': 'jobTimeline { at completed }',
  'jobTimeline, the dead of a day': 'jobTimeline(filter: {statuses: [DEAD]}) { at dead }',
  payloadPaths: 'payloadPaths { value count }',
  payloadValues: 'payloadValues(path: "order.status") { value count }',
  errorGroups: 'errorGroups { fingerprint count sample { id } }',
  'deadLetters, a page': 'deadLetters(first: 25) { nodes { id } }',
  'deadLetters, by a text that none has': 'deadLetters(first: 25, filter: {errorContains: "no such error"}) { nodes { id } }',
  'deadLetters { totalCount }': 'deadLetters(first: 1) { totalCount }',
  'depth of 10 queues': 'queues(first: 10) { nodes { depth { due completed dead } } }',
  'health of 10 queues': 'queues(first: 10) { nodes { health { answered2xx } } }',
  'timeline of 10 queues, a day': timeline(1, 300),
  'timeline of 10 queues, three days in hours': timeline(3, 3600),
  'attempts, the latest': 'attempts(first: 25) { nodes { at } }',
  'attempts, the slowest of a day': `attempts(first: 25, filter: {at: {from: "${iso(Date.now() - DAY)}"}}, orderBy: {field: DURATION, direction: DESC}) { nodes { at } }`,
  'jobGroups, by queue and state': 'jobGroups(by: [QUEUE, STATE]) { jobCount }',
  'jobGroups of all, by a payload value': 'jobGroups(by: [PAYLOAD], path: "order.status") { groupCount }',
  'jobGroups of the dead, by a payload value': 'jobGroups(by: [PAYLOAD], path: "customer.id", filter: {states: [DEAD]}) { groupCount }',
  [TROUBLE]: 'queues(first: 25, orderBy: TROUBLE) { nodes { id } }',
  'lastDeliveryAt of 10 queues': 'queues(first: 10) { nodes { lastDeliveryAt } }',
  'lastDeliveryAt of the account': 'account { lastDeliveryAt }',
  'firstSeen of the warnings of 10 queues': 'queues(first: 10) { nodes { health { warnings { firstSeen } } } }',
  'errorGroups, not dismissed': 'errorGroups(filter: {dismissed: false}) { fingerprint dismissal { until } }',
  usage: 'account { usage { attempts } }',
  'plain fields, nearly as many as allowed': 'queues(first: 10) { nodes { jobs(first: 100) { nodes { id status attemptsMade maxAttempts deferCount backoffType backoffDelay idempotencyKey scheduledFor deliverBy startedAt lastError deadReason createdAt completedAt } } } }',
};

const OTHERS = 'other-';
const MORE_QUEUES = `
  insert into queue (account_id, name, webhook_url, signing_secret, max_attempts, max_defers, concurrency, dlq_enabled,
                     mode, rate_limit_window, ack_timeout, ack_timeout_action, backoff_type, backoff_delay)
  select q.account_id, $1 || n, q.webhook_url, 'secret', 3, 50, 50, true, 'standard', 60, 300, 'retry', 'fixed', 30
    from (select account_id, webhook_url from queue where name = 'seed-1' order by id desc limit 1) q, generate_series(1, $2::integer) n`;

if (isMainThread) await measure();
else ask();

function ask() {
  const { url, key } = workerData;
  parentPort.on('message', async (query) => {
    const startedAt = performance.now();
    const response = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ query }),
    });
    const { errors } = await response.json();
    parentPort.postMessage({ ms: performance.now() - startedAt, error: errors?.[0]?.message });
  });
}

async function measure() {
  const { default: pg } = await import('pg');
  let databaseMs = 0;
  const { query } = pg.Client.prototype;
  pg.Client.prototype.query = function (...args) {
    const startedAt = performance.now();
    const running = query.apply(this, args);
    if (typeof running?.then === 'function') running.then(() => { databaseMs += performance.now() - startedAt; }, () => undefined);
    return running;
  };
  const [{ parse }, { priceOf }, { schema }, { startService }, { parseConfig }, { generateApiKey, describeApiKey }] = await Promise.all([
    import('graphql'),
    import('../../../dist/src/graphql/price.js'),
    import('../../../dist/src/graphql/schema.js'),
    import('../../../dist/src/process/start.js'),
    import('../../../dist/src/process/config.js'),
    import('../../../dist/src/services/accounts/api-key.js'),
  ]);
  const client = new pg.Client({ connectionString: process.env.DATABASE_URL });
  await client.connect();
  const key = generateApiKey();
  const { hash, prefix, lastFour } = describeApiKey(key);
  await client.query(
    `insert into api_key (account_id, hash, prefix, last_four)
     select id, $1, $2, $3 from account where name = 'seed' order by id desc limit 1`,
    [hash, prefix, lastFour],
  );
  const quiet = { info() {}, warn() {}, error: console.error, debug() {} };
  const service = await startService(parseConfig({ ...process.env, ROLE: 'api', HOST: '127.0.0.1', PORT: '0' }), quiet);
  const asker = new Worker(new URL(import.meta.url), { workerData: { url: service.url, key } });
  const once = (text) =>
    new Promise((resolve) => {
      asker.once('message', resolve);
      asker.postMessage(text);
    });

  console.log('| Field | price | database | event loop, at most | answer |\n|---|---|---|---|---|');
  for (const [name, field] of Object.entries(FIELDS)) {
    const textOf = (round) => `{ ${typeof field === 'function' ? field(round) : field} }`;
    const price = priceOf({ schema, document: parse(textOf(0)) });
    if (name === TROUBLE) await client.query(MORE_QUEUES, [OTHERS, 490]);
    const rounds = [];
    const delay = monitorEventLoopDelay({ resolution: 1 });
    let error;
    for (let round = -3; round < Number(process.argv[2] ?? 10); round += 1) {
      if (round === 0) delay.enable();
      databaseMs = 0;
      const answer = await once(textOf(round));
      error ??= answer.error;
      if (round >= 0) rounds.push({ ms: answer.ms, databaseMs });
    }
    delay.disable();
    if (name === TROUBLE) await client.query('delete from queue where starts_with(name, $1)', [OTHERS]);
    const middle = (what) => rounds.map((round) => round[what]).sort((a, b) => a - b)[Math.floor(rounds.length / 2)].toFixed(0);
    const said = error === undefined ? `${middle('ms')} ms` : error;
    console.log(`| ${name} | ${price} | ${middle('databaseMs')} ms | ${(delay.max / 1e6).toFixed(0)} ms | ${said} |`);
  }
  await asker.terminate();
  await service.stop();
  await client.end();
}
