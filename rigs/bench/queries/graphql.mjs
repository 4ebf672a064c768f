// Measures what a dashboard waits for, over HTTP and GraphQL, on a database that `seed.mjs` has filled.
//
//   node rigs/bench/queries/graphql.mjs http://127.0.0.1:8080 API_KEY [runs]     40 by default
//
// Fill the database before the service is started, or its statistics and its index follow along.
// The first five runs of each query are not counted. Prints a Markdown table.
import { DASHBOARD } from '../load/dashboard-query.mjs';

const [url, key, runs = '40'] = process.argv.slice(2);

const QUERIES = {
  'a dashboard: 10 queues with depth and timeline of a day in 5 minutes, 50 jobs with attempts': DASHBOARD,
  'the same without timelines': `{
    queues(first: 10) { nodes { id name inFlight depth { due retrying processing completed dead } } }
    jobs(first: 50) { nodes { id status payload attempts { status error durationMs } } }
  }`,
  'payload: a customer that few jobs have': page('{path: "customer.id", value: 4711}'),
  'payload: a status that most of them have': page('{path: "order.status", value: "paid"}'),
  'payload: a total above a bound that one in three meets': page('{path: "order.total", op: GT, value: 600}'),
  'dead jobs': '{ jobs(first: 25, filter: {statuses: [DEAD]}) { nodes { id lastError payload } } }',
  'jobs that failed with a 5xx': '{ jobs(first: 25, filter: {webhookStatusClasses: [5]}) { nodes { id lastError } } }',
  'error groups': '{ errorGroups { fingerprint reason count lastSeen sample { id } } }',
  'a count to 10 000': '{ count { count exact } }',
};

function page(condition) {
  return `{ jobs(first: 25, filter: {payload: ${condition}}) { nodes { id status payload attempts { status } } } }`;
}

async function ask(query) {
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ query }),
  });
  const { errors } = await response.json();
  if (errors !== undefined) throw new Error(JSON.stringify(errors));
}

console.log('| What | p50 | p95 |\n|---|---|---|');
for (const [name, query] of Object.entries(QUERIES)) {
  const times = [];
  for (let run = -5; run < Number(runs); run += 1) {
    const startedAt = performance.now();
    await ask(query);
    if (run >= 0) times.push(performance.now() - startedAt);
  }
  times.sort((one, other) => one - other);
  const at = (share) => `${times[Math.min(times.length - 1, Math.floor(share * times.length))].toFixed(0)} ms`;
  console.log(`| ${name} | ${at(0.5)} | ${at(0.95)} |`);
}
