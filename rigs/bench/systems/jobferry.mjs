import { fileURLToPath } from 'node:url';
import { cpuOf, peakRssOf } from '../measure/processes.mjs';
import { startChild } from '../stage/child.mjs';
import { profilingArguments, resetStatements, writeStatements } from '../stage/profile.mjs';
import { query } from '../stage/postgres.mjs';
import { startStandby } from '../stage/standby.mjs';

export const MAIN = fileURLToPath(new URL('../../../dist/main.js', import.meta.url));
const API_KEY = 'key-of-the-benchmark';
const READY = /listening on (http:\S+)/;
/** The peers write no log lines per job either. */
const LOG_LEVEL = 'warn';
const SETTLED_MS = 60_000;

/** An API process and worker processes on a database of their own. */
export const jobferry = {
  name: 'jobferry',
  isOwn: true,
  label: 'Jobferry',

  /**
   * `database`: name of one that exists, with its schema; else a new one is made, and dropped at the end.
   * `main` is the program of another build. `workers` may be 0; `running.startWorker()` adds one. With `standby`
   * GraphQL's queries read from one.
   */
  async start(stage, options) {
    const { queues = 1, concurrency = 100, webhookUrl, workers = 1, settings = {}, database, main = MAIN } = options;
    const name = database ?? 'bench_jobferry';
    const databaseUrl = database === undefined ? await stage.postgres.createDatabase(name) : options.databaseUrl;
    const standby = options.standby ? await startStandby(stage.postgres, databaseUrl) : null;
    const env = { ...(standby && { DATABASE_REPLICA_URL: standby.url }), ...options.env };
    const isProfiled = stage.options.profile;
    const children = [];
    const startRole = async (role) => {
      const child = await startChild(process.execPath, [...(isProfiled ? profilingArguments(role) : []), main, 'serve', '--role', role], {
        ready: READY,
        env: {
          DATABASE_URL: databaseUrl,
          HOST: '127.0.0.1',
          PORT: '0',
          BOOTSTRAP_API_KEY: API_KEY,
          WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8',
          LOG_LEVEL,
          ...env,
        },
      });
      children.push({ role, child });
      return child;
    };
    const api = await startRole(options.isOne ? 'all' : 'api');
    const url = new URL(api.match[1]);
    const rest = restOf(url.origin);
    const created = [];
    for (let n = 0; n < queues; n += 1) {
      const body = { name: `bench-${n}`, webhookUrl, concurrency, ...settings };
      created.push(await rest('POST', '/v1/queues', body));
    }
    for (let n = 0; n < (options.isOne ? 0 : workers); n += 1) await startRole('worker');

    return {
      published: 0,
      accepted: 0,
      records: [],
      databaseUrl,
      queues: created,
      rest,
      target: { host: url.hostname, port: Number(url.port), apiKey: API_KEY, paths: created.map(pathOf) },
      secrets: Object.fromEntries(created.map((queue) => [queue.name, queue.signingSecret])),
      startWorker: () => startRole('worker'),
      cpu: () => ({ ...sums(children), postgres: stage.postgres.cpu(), ...(standby && { standby: standby.cpu() }) }),
      peakRss: () => Object.fromEntries(numbered(children).map(([role, { pid }]) => [role, peakRssOf(pid)])),
      processes: () => numbered(children).map(([role, { pid }]) => ({ role, pid })),
      warmedUp: async () => {
        if (isProfiled) await resetStatements(databaseUrl);
      },
      settled: () => payloadsIndexed(databaseUrl),
      async stop() {
        if (isProfiled) await writeStatements(databaseUrl);
        for (const { child } of children.toReversed()) await child.stop();
        await standby?.stop();
        if (database === undefined) await stage.postgres.dropDatabase(name);
      },
    };
  },
};

/** Both roles in one process, as the README starts it. */
export const jobferryOne = {
  ...jobferry,
  name: 'jobferry-one',
  label: 'Jobferry, one process',
  start: (stage, options) => jobferry.start(stage, { ...options, isOne: true }),
};

function pathOf({ name }) {
  return `/v1/queues/${name}/jobs`;
}

/** CPU by role, workers together. */
function sums(children) {
  const cpu = {};
  for (const { role, child } of children) cpu[role] = (cpu[role] ?? 0) + cpuOf(child.pid);
  return cpu;
}

function numbered(children) {
  const counts = {};
  return children.map(({ role, child }) => {
    counts[role] = (counts[role] ?? 0) + 1;
    return [counts[role] === 1 ? role : `${role} ${counts[role]}`, child];
  });
}

function restOf(origin) {
  return async (method, path, body) => {
    const response = await fetch(origin + path, {
      method,
      headers: { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return response.status === 204 ? null : response.json();
  };
}

/** Payloads become searchable when deliveries leave time for it; that work belongs to the jobs that caused it. */
async function payloadsIndexed(databaseUrl) {
  const giveUpAt = performance.now() + SETTLED_MS;
  const [{ last }] = await query(databaseUrl, 'select max(id) as last from job');
  for (;;) {
    const [{ done }] = await query(databaseUrl, `select position >= $1 as done from follower where name = 'search'`, [last]);
    if (done || last === null || performance.now() > giveUpAt) return;
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}
