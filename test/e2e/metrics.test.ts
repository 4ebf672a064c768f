import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { createAccount } from '../support/account.ts';
import { type Api, type ApiQueue, createApi } from '../support/api.ts';
import { createTestDatabase } from '../support/database.ts';
import { createGraphQLClient } from '../support/graphql.ts';
import { type Family, parsePage, samplesOf, sumOf } from '../support/metrics-page.ts';
import { type Jobferry, startJobferry } from '../support/process.ts';
import { hasPrometheus, promtool, startPrometheus } from '../support/prometheus.ts';
import type { Receiver } from '../support/receiver.ts';
import { openReceiver } from '../support/service.ts';
import { relayDatabase, type TcpRelay } from '../support/tcp-relay.ts';
import { always, waitFor } from '../support/wait-for.ts';

/** `/metrics` of an API and a worker as Prometheus reads it, compared with what receivers saw. */

const ROOT = join(import.meta.dirname, '../..');
const TOKEN = 'token-of-the-metrics';
const MAX_QUEUES = 6;
const REMOVED = 'jobferry_retention_removed_total';
const OPEN = 'application/openmetrics-text;version=1.0.0';

let relay: TcpRelay;
let api: Api;
let key: string;
let accountId: string;
let neighbour: { id: string; api: Api };
let apiProcess: Jobferry;
let worker: Jobferry;
let workerPages: string;

const fetchPage = (url: string, headers: Record<string, string> = {}) =>
  fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${TOKEN}`, ...headers } });

async function scrape(url: string): Promise<Map<string, Family>> {
  const response = await fetchPage(url);
  expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  return parsePage(await response.text(), 'prometheus');
}

/** Reads the worker's page first, so that it is the process that shows the facts of the database. */
async function scrapeBoth(): Promise<Map<string, Family>[]> {
  return [await scrape(workerPages), await scrape(apiProcess.baseUrl)];
}

beforeAll(async () => {
  const { url } = await createTestDatabase();
  ({ key, id: accountId } = await createAccount(url));
  const other = await createAccount(url);
  const relayed = await relayDatabase(url);
  relay = relayed.relay;
  const common = { METRICS_MAX_QUEUES: String(MAX_QUEUES) };
  [apiProcess, worker] = await Promise.all([
    startJobferry({ databaseUrl: relayed.url, role: 'api', env: { ...common, METRICS_TOKEN: TOKEN } }),
    startJobferry({ databaseUrl: relayed.url, role: 'worker', env: { ...common, METRICS_PORT: '0' } }),
  ]);
  workerPages = String(worker.logs.find(({ msg }) => msg === 'listening')?.metricsUrl);
  api = createApi(apiProcess.baseUrl, key);
  neighbour = { id: other.id, api: createApi(apiProcess.baseUrl, other.key) };
});

describe('counters', () => {
  let receiver: Receiver;
  const queues: Record<string, ApiQueue> = {};

  beforeAll(async () => {
    const seen = new Map<string, number>();
    receiver = await openReceiver(({ path, json }) => {
      const { id } = json();
      seen.set(id, (seen.get(id) ?? 0) + 1);
      const isFirst = seen.get(id) === 1;
      if (path === '/retried' && isFirst) return { status: 500 };
      if (path === '/held' && isFirst) return { status: 503, headers: { 'retry-after': '0' } };
      return { status: path === '/dead' ? 404 : 200 };
    });
    const settings = { backoffType: 'fixed', backoffDelay: 0 };
    for (const name of ['plain', 'retried', 'held']) {
      queues[name] = await api.createQueue({ name, webhookUrl: `${receiver.url}/${name}`, ...settings });
    }
    queues.dead = await api.createQueue({ name: 'dead', webhookUrl: `${receiver.url}/dead`, maxAttempts: 1 });
    queues.acked = await api.createQueue({ name: 'acked', webhookUrl: `${receiver.url}/acked`, mode: 'ack' });
    const jobs = await Promise.all(
      Object.keys(queues).flatMap((name) => [1, 2, 3].map(async () => ({ name, job: await api.publish(name) }))),
    );
    await api.publish('plain', { payload: {}, idempotencyKey: 'once' });
    await api.publish('plain', { payload: {}, idempotencyKey: 'once' });
    await api.call('POST', '/v1/queues/none/jobs', { payload: {} });
    for (const { name, job } of jobs) {
      if (name === 'acked') {
        await api.waitForStatus(job.id, 'awaiting_ack');
        await api.call('POST', `/v1/jobs/${job.id}/ack`, {});
      } else await api.waitForStatus(job.id, name === 'dead' ? 'dead' : 'completed');
    }
    await receiver.waitFor(22);
    const graphql = createGraphQLClient(apiProcess.baseUrl, key);
    await graphql.query('{ me { label } }');
    await graphql.send('{ nothing }');
    // Cancelled by the API, and by a bulk action of the worker.
    const cancelled = await api.createQueue({ name: 'cancelled', webhookUrl: receiver.url });
    const delayed = await Promise.all([1, 2, 3].map(() => api.publish('cancelled', { payload: {}, delay: 3600 })));
    await graphql.query('mutation ($id: ID!) { cancelJob(id: $id) { __typename } }', { id: delayed[0]?.id });
    await graphql.query('mutation ($id: ID!) { purgeQueue(id: $id) { __typename } }', { id: cancelled.id });
    for (const { id } of delayed) await api.waitForStatus(id, 'dead');
  });

  const settledPages = (deliveries: number) =>
    waitFor(
      async () => {
        const pages = await scrapeBoth();
        return sumOf(pages, 'jobferry_settle_jobs_sum') === deliveries ? pages : null;
      },
      { message: 'all outcomes settled' },
    );

  it('are what the receiver saw', async () => {
    const pages = await settledPages(receiver.requests.length);
    for (const name of Object.keys(queues)) {
      const requests = receiver.requests.filter(({ path }) => path === `/${name}`);
      const classes = requests.map(({ status }) => `${Math.floor((status ?? 0) / 100)}xx`);
      for (const status_class of new Set(classes)) {
        const labels = { account: accountId, queue: name, status_class };
        const seen = classes.filter((one) => one === status_class).length;
        expect([labels, sumOf(pages, 'jobferry_deliveries_total', labels)]).toEqual([labels, seen]);
      }
      expect(sumOf(pages, 'jobferry_deliveries_total', { queue: name })).toBe(requests.length);
    }
    const sum = (name: string, labels = {}) => sumOf(pages, `jobferry_${name}`, labels);
    expect(sum('delivery_duration_seconds_count')).toBe(receiver.requests.length);
    expect(sum('delivery_wait_seconds_count')).toBe(receiver.requests.length);
    expect(sum('claim_jobs_sum')).toBe(receiver.requests.length);
    expect(sum('claim_statements_total', { result: 'ok' })).toBeGreaterThan(0);
    expect(sum('settle_statements_total', { result: 'ok' })).toBe(sum('settle_duration_seconds_count'));
    expect(sum('deliveries_in_flight')).toBe(0);
    expect(sum('delivery_slots')).toBe(1000);
    expect(sum('worker_delivers')).toBe(1);
    expect(sum('publishes_running')).toBe(0);
    expect(sum('unread_answer_bytes')).toBe(0);
    expect(sum('outcomes_dropped_total')).toBe(0);
  });

  it('are what became of the jobs', async () => {
    const pages = await settledPages(receiver.requests.length);
    const sum = (name: string, labels = {}) => sumOf(pages, `jobferry_${name}`, labels);
    expect(sum('publishes_total', { result: 'created' })).toBe(19);
    expect(sum('publishes_total', { queue: 'plain', result: 'existing' })).toBe(1);
    expect(sum('publish_batch_jobs_sum')).toBe(21);
    expect(sum('publish_refusals_total')).toBe(1);
    expect(sum('publish_refusals_total', { reason: 'not_found' })).toBe(1);
    // Both processes count: the API writes the reports of acknowledged jobs.
    expect(sum('jobs_completed_total')).toBe(13);
    expect(sum('jobs_completed_total', { queue: 'acked' })).toBe(3);
    expect(sum('job_retries_total', { queue: 'retried', reason: 'http_5xx' })).toBe(3);
    expect(sum('job_holds_total', { queue: 'held', reason: 'http_5xx' })).toBe(3);
    expect(sum('jobs_dead_total')).toBe(6);
    expect(sum('jobs_dead_total', { queue: 'cancelled', reason: 'cancelled' })).toBe(3);
    expect(sum('jobs_dead_total', { queue: 'dead', reason: 'attempts_exhausted' })).toBe(3);
  });

  it('counters of requests have the route and never the path', async () => {
    const pages = await scrapeBoth();
    const sum = (labels: Record<string, string>) => sumOf(pages, 'jobferry_http_requests_total', labels);
    const route = '/v1/queues/:queueName/jobs';
    expect(sum({ method: 'POST', route, code: '201' })).toBe(19);
    expect(sum({ method: 'POST', route, code: '200' })).toBe(1);
    expect(sum({ method: 'POST', route, code: '404' })).toBe(1);
    expect(sumOf(pages, 'jobferry_http_request_duration_seconds_count', { route })).toBe(21);
    expect(sum({ route: '/graphql' })).toBe(4);
    const mine = { account: accountId, code: '404' };
    expect(sumOf(pages, 'jobferry_account_requests_total', mine)).toBe(1);
    const operations = (labels: Record<string, string>) => sumOf(pages, 'jobferry_graphql_operations_total', labels);
    expect(operations({ type: 'query', result: 'ok' })).toBe(1);
    expect(operations({ type: 'mutation', result: 'ok' })).toBe(2);
    expect(operations({ result: 'refused' })).toBe(1);
  });

  it.skipIf(!hasPrometheus)('are the same in a real Prometheus, which evaluates all rules', async () => {
    const files = ['jobferry.rules.yml', 'jobferry.alerts.yml'].map((name) => join(ROOT, 'deploy/prometheus', name));
    const targets = [{ url: workerPages }, { url: apiProcess.baseUrl, token: TOKEN }];
    const prometheus = await startPrometheus(targets, files);
    const message = 'the counters in Prometheus';
    await waitFor(async () => (await prometheus.query('sum(up)'))[0] === 2, { message });
    expect(await prometheus.query('sum(jobferry_deliveries_total)')).toEqual([receiver.requests.length]);
    expect(await prometheus.query('sum(jobferry_deliveries_total{queue="dead",status_class="4xx"})')).toEqual([3]);
    expect(await prometheus.query('sum(jobferry_jobs_completed_total)')).toEqual([13]);
    expect(await prometheus.query('count(count by (instance) (jobferry_queue_jobs))')).toEqual([1]);
    type Rules = { groups: { rules: { name: string; health: string }[] }[] };
    const rules = await waitFor(
      async () => {
        const all = (await prometheus.get<Rules>('rules')).groups.flatMap((group) => group.rules);
        return all.every(({ health }) => health !== 'unknown') ? all : null;
      },
      { message: 'all rules evaluated' },
    );
    expect(rules.filter(({ health }) => health !== 'ok')).toEqual([]);
    expect(rules.length).toBeGreaterThan(30);
  });
});

describe('a page', () => {
  it('can be parsed strictly in both formats, and both have the same names', async () => {
    for (const url of [workerPages, apiProcess.baseUrl]) {
      const response = await fetchPage(url, { accept: OPEN });
      expect(response.headers.get('content-type')).toBe('application/openmetrics-text; version=1.0.0; charset=utf-8');
      const open = [...parsePage(await response.text(), 'openmetrics')].map(([name, { type }]) =>
        type === 'counter' ? `${name}_total` : name,
      );
      expect(open.toSorted()).toEqual([...(await scrape(url)).keys()].toSorted());
    }
  });

  it('the metrics of the API need the token, and those of the worker are on their own port only', async () => {
    for (const authorization of ['', 'Bearer wrong', `Bearer ${key}`, `Basic ${TOKEN}`]) {
      const response = await fetchPage(apiProcess.baseUrl, { authorization });
      expect([authorization, response.status]).toEqual([authorization, 401]);
      expect(response.headers.get('www-authenticate')).toBe('Bearer');
    }
    expect((await fetch(`${workerPages}/metrics`)).status).toBe(200);
    expect((await fetch(`${worker.baseUrl}/metrics`)).status).toBe(404);
  });

  it('has each metric of docs/metrics.md, and no other', async () => {
    const documented = new Set(
      [...(await readFile(join(ROOT, 'docs/metrics.md'), 'utf8')).matchAll(/^\| `(jobferry_\w+)/gm)].map(([, n]) => n),
    );
    const shown = async () => {
      const names = (await scrapeBoth()).flatMap((page) => [...page.keys()]);
      return new Set(names.filter((name) => name.startsWith('jobferry_')));
    };
    // The facts about the server come with a later page.
    await waitFor(async () => (await shown()).size === documented.size, { message: 'all metrics' }).catch(
      () => undefined,
    );
    expect(documented).toEqual(await shown());
  });

  it('has each metric that rules and dashboards of deploy/ name, with the labels that they select by', async () => {
    const deploy = join(ROOT, 'deploy');
    const files = (await readdir(deploy, { recursive: true })).filter((name) =>
      /^(prometheus|grafana)\/jobferry/.test(name),
    );
    expect(files).toHaveLength(5);
    const texts = await Promise.all(files.map((name) => readFile(join(deploy, name), 'utf8')));
    const missing = async () => {
      const labelsOf = new Map(OF_A_REPLICA.map((name) => [name, new Set(BY_PROMETHEUS)]));
      for (const page of await scrapeBoth()) {
        for (const { name, labels } of [...page.values()].flatMap(({ samples }) => samples)) {
          labelsOf.set(name, new Set([...(labelsOf.get(name) ?? BY_PROMETHEUS), ...Object.keys(labels)]));
        }
      }
      const used = texts.flatMap((text) => [...text.replaceAll('\\"', '"').matchAll(METRIC_IN_QUERY)]);
      expect(used.length).toBeGreaterThan(150);
      return used
        .filter(([, name = '', selector = '']) => {
          const selected = [...selector.matchAll(/(\w+)(?:=~|!~|!=|=)"/g)].map(([, label = '']) => label);
          return !selected.every((label) => labelsOf.get(name)?.has(label)) || !labelsOf.has(name);
        })
        .map(([text]) => text);
    };
    // The first sweep and the like may still be running.
    await waitFor(async () => (await missing()).length === 0, { message: 'all metrics' }).catch(() => undefined);
    expect(await missing()).toEqual([]);
  });
});

/** A metric of Jobferry or of its process, and not the name of a recording rule, with its selector. */
const METRIC_IN_QUERY = /(?<![\w:])((?:jobferry|process|nodejs)_\w+)(?:\{([^}]*)\})?/g;
/** Labels that Prometheus adds to everything, as its configuration says. */
const BY_PROMETHEUS = ['job', 'instance', 'cluster'];
/** Shown with DATABASE_REPLICA_URL only: test/e2e/replica.test.ts. */
const OF_A_REPLICA = ['jobferry_replica_in_use', 'jobferry_replica_lag_seconds'];

describe.skipIf(!hasPrometheus)('promtool', () => {
  it('finds nothing to correct in the names and types of our metrics', async () => {
    const pages = [await fetchPage(workerPages), await fetchPage(apiProcess.baseUrl)];
    for (const page of pages) {
      const found = promtool(['check', 'metrics'], { input: await page.text() });
      expect(found.split('\n').filter((line) => line.startsWith('jobferry_'))).toEqual([]);
    }
  });

  it('passes the tests of the rules', () => {
    promtool(['test', 'rules', 'jobferry.test.yml'], { cwd: join(ROOT, 'deploy/prometheus') });
  });
});

describe('series', () => {
  it('series of queues end at METRICS_MAX_QUEUES, the accounts in turn, and the rest is other', async () => {
    const receiver = await openReceiver();
    await neighbour.api.createQueue({ name: 'of-the-neighbour', webhookUrl: receiver.url });
    const more = ['more-1', 'more-2', 'more-3', 'more-4'];
    for (const name of more) await api.createQueue({ name, webhookUrl: receiver.url });
    await Promise.all([...more.map((name) => api.publish(name)), neighbour.api.publish('of-the-neighbour')]);
    await receiver.waitFor(5);
    const pages = await waitFor(
      async () => {
        const both = await scrapeBoth();
        return sumOf(both, 'jobferry_deliveries_total') === 27 ? both : null;
      },
      { message: 'all deliveries on the pages' },
    );
    for (const page of pages) {
      const samples = [...page.values()].flatMap((family) => family.samples).filter(({ labels }) => 'queue' in labels);
      expect(new Set(samples.map(({ labels }) => labels.queue)).size).toBeLessThanOrEqual(MAX_QUEUES + 1);
    }
    expect(sumOf(pages, 'jobferry_deliveries_total', { account: 'other', queue: 'other' })).toBe(4);
    expect(sumOf(pages, 'jobferry_deliveries_total', { account: neighbour.id })).toBe(1);
  });

  it('series about the database are shown by one process, and by another one when that has ended', async () => {
    // It is the worker, whose page was read first, unless a busy machine has made it reconnect since. A page for which
    // the database is too slow lacks them.
    const before = await waitFor(
      async () => {
        const both = await scrapeBoth();
        const showing = both.filter((page) => samplesOf([page], 'jobferry_queue_jobs').length > 0);
        always(() => expect(showing.length).toBeLessThanOrEqual(1));
        return showing.length === 1 && sumOf(both, 'jobferry_database_up') === 2 ? both : null;
      },
      { message: 'the series about the database on one page' },
    );
    expect(sumOf(before, 'jobferry_schema_info')).toBe(1);
    await waitFor(async () => samplesOf(await scrapeBoth(), REMOVED, { kind: 'bulk_actions' }).length === 1, {
      message: 'the first sweep',
    });
    expect(sumOf(before, 'jobferry_queue_concurrency', { queue: 'plain' })).toBeGreaterThan(0);

    await worker.kill();
    await api.publish('plain', { payload: {}, delay: 3600 });
    await Promise.all(['plain', 'plain', 'more-4'].map((name) => api.publish(name)));
    const state = (page: Map<string, Family>, queue: string, of: string) =>
      sumOf([page], 'jobferry_queue_jobs', { queue, state: of });
    const page = await waitFor(
      async () => {
        const now = await scrape(apiProcess.baseUrl);
        return sumOf([now], 'jobferry_queue_oldest_due_age_seconds', { queue: 'plain' }) > 0 ? now : null;
      },
      { message: 'the facts on the page of the API' },
    );
    expect([state(page, 'plain', 'due'), state(page, 'plain', 'scheduled')]).toEqual([2, 1]);
    expect(state(page, 'other', 'due')).toBe(1);
    expect(sumOf([page], 'jobferry_queue_oldest_due_age_seconds', { queue: 'other' })).toBeGreaterThan(0);
    expect(state(page, 'dead', 'due')).toBe(0);
  });

  it('series about the process are shown although the database is silent', async () => {
    relay.stall();
    const page = await waitFor(
      async () => {
        const now = await scrape(apiProcess.baseUrl);
        return sumOf([now], 'jobferry_database_up') === 0 ? now : null;
      },
      { message: 'a page without the database' },
    );
    expect(sumOf([page], 'jobferry_publishes_total', { queue: 'plain', result: 'created' })).toBe(7);
    await waitFor(async () => samplesOf([await scrape(apiProcess.baseUrl)], 'jobferry_queue_jobs').length === 0, {
      message: 'no facts of a lost connection',
    });
    await relay.heal();
    await waitFor(async () => sumOf([await scrape(apiProcess.baseUrl)], 'jobferry_database_up') === 1, {
      message: 'the database on the page again',
    });
  });
});
