// How long the parts of a dashboard take on a database that seed.mjs has filled: statistics, depths, dead letters.
//
//   DATABASE_URL=postgresql://… node rigs/bench/queries/dashboards.mjs [account id] [rounds]
//
// Brings the statistics up to date first, and prints a Markdown table of warm times: the service's own code, one
// caller, without HTTP and GraphQL.
import { Database } from '../../../dist/src/db/connection/database.js';
import { rollUp } from '../../../dist/src/db/insight/statistics.js';
import { createUsage } from '../../../dist/src/services/accounts/usage.js';
import { createDeadLetterSearch } from '../../../dist/src/services/dead-letters/search.js';
import { createQueueInsight } from '../../../dist/src/services/insight/queues.js';
import { createJobSearch } from '../../../dist/src/services/jobs/search.js';

const db = new Database(process.env.DATABASE_URL, { warn: console.error });
const [accountId = await newestAccount(), rounds = '60'] = process.argv.slice(2);
const dayMs = 86_400_000;
const context = {
  db,
  plans: { pro: { window: 3 * 86_400 } },
  periods: { retentionMs: 3 * dayMs, lifetimeMs: dayMs },
  server: { version: '0.0.0', environment: 'bench', webhookTimeoutMs: 15_000 },
};
const account = { id: accountId, plan: 'pro' };
const queueIds = (await db.query('select id from queue where account_id = $1 order by id', [accountId])).map(({ id }) => id);
const insight = createQueueInsight(context);
const letters = createDeadLetterSearch(context);
const jobs = createJobSearch(context);
const accounts = createUsage(context);

async function newestAccount() {
  return (await db.one(`select id from account where name = 'seed' order by id desc limit 1`)).id;
}

const started = performance.now();
let steps = 1;
while (await rollUp(db, 3 * dayMs)) steps += 1;
console.log(`Rolled up in ${steps} steps and ${Math.round(performance.now() - started)} ms.\n`);

const now = Math.ceil(Date.now() / 60_000) * 60_000;
const over = (days, bucketSeconds) => ({ from: new Date(now - days * dayMs), to: new Date(now), bucketSeconds });
const waiting = (await db.query(`select id from job where queue_id = any ($1) and status = 'pending' limit 50`, [queueIds])).map(({ id }) => id);

/** The newest five jobs of each queue, with their attempts. */
async function newestJobs() {
  const found = await jobs.newest(account, queueIds, {}, 5);
  const ids = [...found.values()].flat().map(({ id }) => id);
  await Promise.all([
    db.query({ name: 'bench-jobs', text: 'select * from job where id = any ($1)' }, [ids]),
    db.query({ name: 'bench-attempts', text: 'select * from attempt where job_id = any ($1) order by ordinal' }, [ids]),
  ]);
}
const depths = () => insight.depths(account, queueIds);
const timelines = () => insight.timelines(account, queueIds, over(1, 300));

const CASES = {
  'depths, timelines of a day, 50 jobs with attempts': () => Promise.all([depths(), timelines(), newestJobs()]),
  'depths of 10 queues': depths,
  'timelines of 10 queues, a day in 5 minutes': timelines,
  'timelines of 10 queues, 3 days in hours': () => insight.timelines(account, queueIds, over(3, 3600)),
  'healths of 10 queues': () => insight.healths(account, queueIds),
  'uses of 10 queues': () => insight.uses(account, queueIds),
  'why 50 jobs wait': () => insight.waitings(account, waiting),
  'error groups of 10 queues': () => letters.errorGroups(account, { queueIds, replayed: false }, 10),
  'dead letters, first page': () => letters.search(account, {}, { limit: 26, inverted: false }),
  'dead letters with a text that none has': () =>
    letters.search(account, { errorContains: 'no such error' }, { limit: 26, inverted: false }),
  'dead letters, counted to 10 000': () => letters.count(account, {}, 10_000),
  'usage of the account': () => accounts.usage(account),
  'roll-up with nothing to do': () => rollUp(db, 3 * dayMs),
};

console.log('| What | p50 | p95 |\n|---|---|---|');
for (const [name, run] of Object.entries(CASES)) {
  // Also past the point where a session settles for its plans.
  for (let i = 0; i < 8; i += 1) await run();
  const times = [];
  for (let i = 0; i < Number(rounds); i += 1) {
    const begun = performance.now();
    await run();
    times.push(performance.now() - begun);
  }
  times.sort((a, b) => a - b);
  const at = (fraction) => (times[Math.ceil(fraction * times.length) - 1] ?? 0).toFixed(1);
  console.log(`| ${name} | ${at(0.5)} ms | ${at(0.95)} ms |`);
}
await db.close();
