// The API of a build without sockets and without a database: its HTTP server,
// with a scripted database behind the services.
import { existsSync } from 'node:fs';
import http from 'node:http';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** The id of the account, of its queue and of its key. */
const ID = '0'.repeat(24);
const API_KEY = 'key-of-the-benchmark';
const config = { templates: {}, maxBodyBytes: 1 << 20, publicUrl: null, requestRates: { ofKey: null, ofAccount: null } };
const log = { info() {}, warn() {}, debug() {}, error: (...texts) => console.error(...texts), isLevelEnabled: () => false };
const readiness = async () => ({ ready: true, checks: {} });

/**
 * How builds arrange what is needed, the newest first. The last one is of the first build that pairs were compared
 * with.
 */
const LAYOUTS = [
  {
    app: 'src/http/app.js',
    listen: 'src/http/server/listen.js',
    publish: 'src/services/jobs/publish.js',
    authenticate: 'src/services/accounts/authenticate.js',
    servicesOf: servicesByNoun,
  },
  {
    app: 'http/app.js',
    listen: 'http/server/listen.js',
    publish: 'services/jobs/publish.js',
    authenticate: 'services/accounts/authenticate.js',
    servicesOf: servicesByNoun,
  },
  {
    app: 'http/app.js',
    listen: 'http/listen.js',
    publish: 'services/publish-job.js',
    authenticate: 'services/authenticate.js',
    servicesOf: ({ publish, authenticate }, context) => ({
      publishJob: publish.createPublishJob(context),
      authenticate: authenticate.createAuthenticate(context),
    }),
  },
];

function servicesByNoun({ publish, authenticate }, context) {
  const jobs = { publish: publish.createPublish(context).publish };
  return { jobs, queues: {}, deadLetters: {}, accounts: authenticate.createAuthenticate(context) };
}

/** @returns the server and a request to publish @throws Error that says what the build does not have */
export async function openApi(dist) {
  const pathsOf = ({ servicesOf: _, ...paths }) => Object.entries(paths);
  const missingIn = (layout) => pathsOf(layout).filter(([, path]) => !existsSync(join(dist, path)));
  const layout = LAYOUTS.find((one) => missingIn(one).length === 0);
  if (layout === undefined) {
    throw new Error(`this build has no ${missingIn(LAYOUTS[0]).map(([, path]) => path).join(', ')}: add its layout to rigs/bench/pairs/api-build.mjs`);
  }
  const server = caughtServer();
  const modules = {};
  for (const [name, path] of pathsOf(layout)) modules[name] = await import(pathToFileURL(join(dist, path)).href);
  const services = layout.servicesOf(modules, contextWith(scriptedDatabase()));
  const app = modules.app.createApp({ services, config, log, readiness, onChange() {} });
  await modules.listen.listen(app, { host: '127.0.0.1', port: 0 });
  return { server: server(), request: publishRequest() };
}

/** The server that the build makes next: it keeps it to itself. */
function caughtServer() {
  const { createServer } = http;
  let server = null;
  http.createServer = (...settings) => {
    server = createServer(...settings);
    return server;
  };
  syncBuiltinESMExports();
  return () => server;
}

function contextWith(db) {
  return {
    db,
    plans: { free: { monthlyAttempts: null } },
    periods: { retentionMs: 1, lifetimeMs: 1 },
    wake() {},
    changes: { changed() {} },
    tracing: null,
  };
}

/**
 * Stores nothing. It answers some turns of the event loop later,
 * so that publishes are gathered as they are with a real one.
 */
function scriptedDatabase() {
  let created = 0;
  const later = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  const holder = {
    id: ID, name: 'bench', plan: 'free', isSuspended: false, requestsPerSecond: null, rights: null,
    key: { id: ID, prefix: 'key-of', lastFour: 'mark' }, scopes: [], queues: [], expiresAt: null, isUseUnnoted: false,
  };
  const db = {
    fullDisk: { wrote() {} }, origin: { wrote() {}, refusal: null }, cipher: { keyId: null }, box: { keyId: null },
    async one({ name }, values) {
      await later();
      const newId = () => String(++created).padStart(24, '0');
      if (name === 'publish-one') {
        return { outcome: 'created', id: newId(), queueId: ID, createdAt: new Date(), claims: null };
      }
      if (name !== 'publish') return holder;
      const ids = JSON.parse(values[0]).map(newId);
      return { answers: { createdAt: Date.now(), ids, queueIds: ids.map(() => ID), others: null } };
    },
    query: async () => [{ prefix: API_KEY.slice(0, 6) }],
    reading: () => db,
  };
  return db;
}

function publishRequest() {
  const body = '{"payload":{"to":"someone@example.com","template":"welcome","n":12345,"tags":["a","b","c"]}}';
  const head = `POST /v1/queues/bench/jobs HTTP/1.1\r\nhost: 127.0.0.1:8080\r\nauthorization: Bearer ${API_KEY}\r\n`;
  return Buffer.from(`${head}content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
}
