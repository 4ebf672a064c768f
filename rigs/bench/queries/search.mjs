// How long the first page of dashboard searches takes on a database that seed.mjs has filled.
//
//   DATABASE_URL=postgresql://… node rigs/bench/queries/search.mjs [account id] [rounds] [name filter]
//
// Prints a Markdown table of warm times: the service's own code, one caller, without HTTP and GraphQL.
import { Database } from '../../../dist/src/db/connection/database.js';
import { createJobSearch } from '../../../dist/src/services/jobs/search.js';

const db = new Database(process.env.DATABASE_URL, { warn: console.error });
const [accountId = await newestAccount(), rounds = '30', wanted = ''] = process.argv.slice(2);
const day = 24 * 3600;
const search = createJobSearch({
  db,
  plans: { pro: { window: 3 * day } },
  periods: { retentionMs: 3 * day * 1000, lifetimeMs: day * 1000 },
});
const account = { id: accountId, plan: 'pro' };

async function newestAccount() {
  return (await db.one(`select id from account where name = 'seed' order by id desc limit 1`)).id;
}

const newest = { field: 'created_at', descending: true };
const page = (filter, order = newest) => search.search(account, filter, order, { limit: 26, inverted: false });
const payload = (path, op, value) => ({ payload: { kind: 'test', path, op, value } });
const not = (filter) => ({ payload: { kind: 'not', of: filter.payload } });
const both = (...filters) => ({ payload: { kind: 'and', of: filters.map((filter) => filter.payload) } });
const [{ id: queueId }] = await db.query('select id from queue where account_id = $1 order by id', [accountId]);

const customer = () => 1 + Math.floor(Math.random() * 50_000);
const CASES = {
  'no filter': () => page({}),
  'EQ, 20 of a million': () => page(payload('customer.id', 'EQ', customer())),
  'EQ, 20 of a million, of one queue': () => page({ ...payload('customer.id', 'EQ', customer()), queueIds: [queueId] }),
  'EQ, none': () => page(payload('customer.id', 'EQ', -1)),
  'EQ in an array, 200 of a million': () => page(payload('items.0.sku', 'EQ', `SKU-${customer() % 5000}`)),
  'EQ, 1 in 8': () => page(payload('customer.country', 'EQ', 'IT')),
  'EQ, 2 in 3': () => page(payload('order.status', 'EQ', 'paid')),
  'EQ, 20 of a million, and failed with a 5xx since noon': () =>
    page({
      ...payload('customer.id', 'EQ', customer()),
      webhookStatusClasses: [5],
      created: { from: new Date(Date.now() - day * 500) },
    }),
  'EQ, 1 in 8, and dead': () => page({ ...payload('customer.country', 'EQ', 'IT'), states: ['dead'] }),
  'EQ, 1 in 8, and GT, 1 in 100 000': () => page(both(payload('customer.country', 'EQ', 'IT'), payload('order.total', 'GT', 2004.97))),
  'GT, 1 in 3': () => page(payload('order.total', 'GT', 600)),
  'GT, 1 in 2000': () => page(payload('order.total', 'GT', 2003)),
  'GT, none': () => page(payload('order.total', 'GT', 99_999)),
  'CONTAINS in a text, 1 in 500': () => page(payload('customer.email', 'CONTAINS', 'customer77')),
  'CONTAINS in an array, 1 in 5': () => page(payload('tags', 'CONTAINS', 'gift')),
  EXISTS: () => page(payload('order.currency', 'EXISTS', null)),
  'not EQ, 1 in 3': () => page(not(payload('order.status', 'EQ', 'paid'))),
  'not EQ, 1 in 1000': () => page(not(payload('note', 'EQ', null))),
  dead: () => page({ states: ['dead'] }),
  'due, retrying and held': () => page({ states: ['due', 'retrying', 'held'] }),
  'in flight (none)': () => page({ states: ['processing', 'awaiting_ack'] }),
  'error contains': () => page({ errorContains: 'http 500' }),
  'last answer 5xx': () => page({ webhookStatusClasses: [5] }),
  'error contains, none': () => page({ errorContains: 'no such error' }),
  'all, by scheduledFor': () => page({}, { field: 'scheduled_for', descending: true }),
  'dead, by scheduledFor': () => page({ states: ['dead'] }, { field: 'scheduled_for', descending: false }),
  'EQ, 20 of a million, by completedAt': () =>
    page(payload('customer.id', 'EQ', customer()), { field: 'completed_at', descending: true }),
  'count of all, to 10 000': () => search.count(account, {}, 10_000),
  'count of dead, to 10 000': () => search.count(account, { states: ['dead'] }, 10_000),
  'count of EQ, 20 of a million': () => search.count(account, payload('customer.id', 'EQ', customer()), 10_000),
  'count of EQ, 2 in 3, to 10 000': () => search.count(account, payload('order.status', 'EQ', 'paid'), 10_000),
  'newest 5 of 10 queues': async () => {
    const queues = await db.query('select id from queue where account_id = $1', [accountId]);
    return search.newest(account, queues.map(({ id }) => id), {}, 5);
  },
  'timeline of a day, dead': () => search.timeline(account, { states: ['dead'] }, timelineOfDay()),
  'timeline of a day, all': () => search.timeline(account, {}, timelineOfDay()),
  'paths of payloads': () => search.payloadPaths(account, null, '', 20),
  'values at a path': () => search.payloadValues(account, null, 'customer.country', '', 20),
};

function timelineOfDay() {
  return { from: new Date(Date.now() - day * 1000), to: new Date(), bucketSeconds: 300 };
}

/** False when the search needs more time than the searches of a request have. */
async function isAnswered(run) {
  try {
    await run();
    return true;
  } catch (error) {
    if (error.kind !== 'invalid_request') throw error;
    return false;
  }
}

console.log('| Search | found | statements | p50 ms | p95 ms |\n|---|---|---|---|---|');
for (const [name, run] of Object.entries(CASES)) {
  if (!name.includes(wanted)) continue;
  if (!(await isAnswered(run))) {
    console.log(`| ${name} | | | refused | |`);
    continue;
  }
  let statements = 0;
  let found = 0;
  const query = db.query;
  db.query = (...args) => {
    statements += 1;
    return query.apply(db, args);
  };
  const times = [];
  const endsAt = Date.now() + 20_000;
  for (let round = 0; round < Number(rounds) && (Date.now() < endsAt || round < 3); round += 1) {
    const startedAt = performance.now();
    // One that is near the limit may be refused at times, and then took as long.
    const result = await run().catch(() => []);
    times.push(performance.now() - startedAt);
    found += result.length ?? result.count ?? result.size;
  }
  db.query = query;
  times.sort((one, other) => one - other);
  const at = (share) => times[Math.min(times.length - 1, Math.ceil(times.length * share) - 1)].toFixed(1);
  const each = (total) => String(Math.round((total / times.length) * 10) / 10);
  console.log(`| ${name} | ${each(found)} | ${each(statements)} | ${at(0.5)} | ${at(0.95)} |`);
}
await db.close();
