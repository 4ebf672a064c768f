import { setTimeout as pause } from 'node:timers/promises';
import { Assistant } from '../load/assistant.mjs';
import { measureLoad } from '../measure/account.mjs';
import { percentiles, spread } from '../measure/statistics.mjs';
import { short } from '../report/format.mjs';
import { variantScenario, WARM_UP_SECONDS } from './variants.mjs';

const VIEWERS = 5;
const EVERY_MS = 1000;
/** Without load, to compare with. */
const IDLE_SECONDS = 3;
/** The query selects the first ten; an account may have a concurrency of 1000 in all. */
const start = { queues: 10, concurrency: 100 };
const SHARES = { p50: 0.5, p95: 0.95 };

export const dashboard = variantScenario({
  about: `${VIEWERS} GraphQL dashboards, each once a second, at full load: rate without, with, and with a standby for them`,
  title: `${VIEWERS} dashboards of 10 queues and 50 jobs, each asking once in ${EVERY_MS / 1000} s`,
  variants: [
    { name: 'no-dashboard', label: 'no dashboard', start },
    { name: 'dashboards', label: `${VIEWERS} dashboards`, start, viewers: VIEWERS },
    {
      name: 'standby',
      label: `${VIEWERS} dashboards, DATABASE_REPLICA_URL`,
      start: { ...start, standby: true },
      viewers: VIEWERS,
    },
  ],
  measure,
  columns: [
    { head: 'queries', cell: (own) => String(own.reduce((sum, { queries }) => sum + (queries?.count ?? 0), 0)) },
    { head: 'query p50 / p95 ms', cell: (own) => pair(own, 'queries') },
    { head: 'without load', cell: (own) => pair(own, 'idle') },
    { head: 'by the standby', cell: (own) => percentage(own) },
    { head: 'CPU µs per job: primary', cell: (own) => cpuOf(own, 'postgres') },
    { head: 'standby', cell: (own) => cpuOf(own, 'standby') },
  ],
  notes: () => [
    'The standby shares the cores and the disk of the primary, and the rate includes its replay. Commits do not wait for it. ' +
      'What it saves is the difference of the CPU of the primary; on a machine of its own, its own CPU would not count here.',
    'There is no aim for this scenario. The jobs are those of the run only; docs/queries.md has the same query on a million jobs.',
  ],
  faults: (turns) => turns.flatMap(({ queries }) => queries?.errors ?? []).map((text) => `a query failed: ${text}`),
});

function pair(turns, what) {
  const of = (share) => spread(turns.map((turn) => turn[what]?.[share]));
  return of('p50') === null
    ? ''
    : Object.keys(SHARES)
        .map((share) => short(of(share).median))
        .join(' / ');
}

/** Viewers are not the publisher, whose own queries would have to wait until the standby has its last publish. */
async function keyOfViewers({ host, port, apiKey }) {
  const response = await fetch(`http://${host}:${port}/graphql`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ query: 'mutation { createApiKey(name: "viewers") { ... on CreateApiKeyPayload { key } } }' }),
  });
  const { data } = await response.json();
  return data.createApiKey.key;
}

/** The share of the queries under load that the standby has answered. */
function percentage(turns) {
  const sum = (what) => turns.reduce((total, { queries }) => total + (queries?.[what] ?? 0), 0);
  return sum('count') === 0 ? '' : `${Math.round((sum('byReplica') / sum('count')) * 100)} %`;
}

function cpuOf(turns, part) {
  const found = spread(turns.map(({ cpuPerJob }) => cpuPerJob[part]));
  return found === null ? '' : String(Math.round(found.median));
}

async function measure(stage, running, { seconds }, { viewers = 0 }) {
  const people = viewers === 0 ? null : new Assistant('viewers.mjs');
  if (people !== null) stage.helpers.push(people);
  try {
    const target = people === null ? null : { ...running.target, apiKey: await keyOfViewers(running.target) };
    const begin = () => people?.ask('begin', { target, viewers, everyMs: EVERY_MS });
    await begin();
    await measureLoad(stage, running, { seconds: WARM_UP_SECONDS });
    await people?.ask('end');
    const idle = people === null ? null : await whileIdle(people, begin);
    await running.warmedUp?.();
    await begin();
    const measured = await measureLoad(stage, running, { seconds });
    const queries = people === null ? null : figures(await people.ask('end'));
    return { ...measured, peakRss: running.peakRss(), queries, idle };
  } finally {
    people?.stop();
    stage.helpers = stage.helpers.filter((helper) => helper !== people);
  }
}

async function whileIdle(people, begin) {
  await begin();
  await pause(IDLE_SECONDS * 1000);
  return figures(await people.ask('end'));
}

function figures({ times, errors, byReplica }) {
  return { count: times.length, byReplica, ...percentiles(times, SHARES), errors };
}
