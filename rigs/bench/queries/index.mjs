// The cost of making payloads searchable on a database that seed.mjs has filled: takes the newest documents
// out of the index, and lets the service put them in again.
//
//   DATABASE_URL=postgresql://… node rigs/bench/queries/index.mjs [jobs] [batch]
import pg from 'pg';

const jobs = Number(process.argv[2] ?? 50_000);
const batch = Number(process.argv[3] ?? 500);
const client = new pg.Client({ connectionString: process.env.DATABASE_URL });
await client.connect();
await client.query(
  `with taken as (delete from job_search where job_id = any (array(select job_id from job_search order by job_id desc limit $1)))
   update follower set position = (select job_id from job_search order by job_id desc offset $1 limit 1) where name = 'search'`,
  [jobs],
);
await client.query('vacuum job_search');
const times = [];
for (;;) {
  const startedAt = performance.now();
  const { rows } = await client.query('select jobferry_index_payloads($1) as indexed', [batch]);
  if (rows[0].indexed === 0) break;
  times.push(performance.now() - startedAt);
}
times.sort((one, other) => one - other);
const total = times.reduce((sum, ms) => sum + ms, 0);
const at = (share) => Number(times[Math.ceil(times.length * share) - 1].toFixed(1));
console.log(
  JSON.stringify({ jobs, batch, msPer1000: Number(((total / jobs) * 1000).toFixed(1)), p50: at(0.5), p95: at(0.95), max: at(1) }),
);
await client.end();
