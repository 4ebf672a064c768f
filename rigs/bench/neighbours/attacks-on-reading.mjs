import { connect } from 'node:net';
import { each, inLoops } from './loops.mjs';

const NOWHERE = 'http://127.0.0.1:9/';
const MEBIBYTE = 'x'.repeat(2 ** 20 - 200);

async function oneQueue(context) {
  context.queue = await context.clients[0].createQueue('attacker', NOWHERE);
}

async function pausedQueue(context, jobs, payload) {
  await oneQueue(context);
  const [client] = context.clients;
  await client.graphql('mutation ($id: ID!) { pauseQueue(id: $id) { __typename } }', { id: context.queue.id });
  await each(Array.from({ length: jobs }), 8, () => client.publish('attacker', payload));
}

/** As many aliases of a field as the service takes in one request: the price limit may forbid thirty. */
async function repeated(context, field) {
  for (let aliases = 30; aliases > 1; aliases -= 1) {
    const query = aliased(field, aliases);
    const { errors } = await context.clients[0].graphql(query);
    if (errors?.[0].extensions?.code !== 'TOO_COMPLEX') return query;
  }
  return aliased(field, 1);
}

function aliased(field, count) {
  return `{ ${Array.from({ length: count }, (_, n) => `a${n}: ${field}`).join(' ')} }`;
}

async function asking(context, field, connections) {
  const query = await repeated(context, field);
  await inLoops(context, connections, async () => (await context.clients[0].graphql(query)).errors === undefined);
}

/** Sends a request on so many connections and reads no answer. */
function withoutReading(context, connections, requestText) {
  const { hostname, port } = new URL(context.url);
  const open = () => {
    const socket = connect({ host: hostname, port: Number(port) }, () => socket.write(requestText));
    socket.pause();
    socket.on('error', () => undefined);
    socket.on('close', () => {
      context.clients[0].count('cut off');
      if (!context.stopped) setTimeout(open, 100);
    });
  };
  for (let n = 0; n < connections; n += 1) open();
  return inLoops(context, 1, async () => false);
}

/** Sends a request, reads the beginning of its answer, and leaves. */
function shortStream(context, requestText) {
  const { hostname, port } = new URL(context.url);
  return new Promise((resolve) => {
    const socket = connect({ host: hostname, port: Number(port) }, () => socket.write(requestText));
    socket.once('data', (data) => {
      context.clients[0].count(`stream ${data.toString('latin1', 9, 12)}`);
      socket.destroy();
    });
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(true));
  });
}

function subscriptionRequest(context, query) {
  const { host } = new URL(context.url);
  const body = JSON.stringify({ query });
  return [
    'POST /graphql HTTP/1.1',
    `Host: ${host}`,
    `Authorization: Bearer ${context.clients[0].key}`,
    'Content-Type: application/json',
    'Accept: text/event-stream',
    `Content-Length: ${Buffer.byteLength(body)}`,
    '',
    body,
  ].join('\r\n');
}

export const reading = {
  searches: {
    prepare: oneQueue,
    run: (context) => asking(context, 'count(filter: {idempotencyKeyContains: "zz1zz"}) { count }', 8),
  },

  payloadSamples: {
    prepare: (context) => pausedQueue(context, 1000, { text: 'x'.repeat(2000), more: { a: 1, b: [1, 2, 3] } }),
    run: (context) => asking(context, 'payloadPaths(first: 1) { __typename }', 8),
  },

  deepLists: {
    prepare: oneQueue,
    run: (context) =>
      inLoops(context, 16, async (n, round) => {
        const [client] = context.clients;
        const query = n % 2 === 0 ? `page=${2900 + (round % 100)}&limit=100` : 'idempotencyKey=zz1zz';
        return (await client.send('GET', `/v1/queues/${context.queue.id}/jobs?${query}`)).status === 200;
      }),
  },

  deepDeadLetters: {
    prepare: oneQueue,
    run: (context) =>
      inLoops(context, 16, async (_, round) => {
        const path = `/v1/queues/${context.queue.id}/dlq?page=${2900 + (round % 100)}&limit=100`;
        return (await context.clients[0].send('GET', path)).status === 200;
      }),
  },

  errorGroups: {
    prepare: oneQueue,
    run: (context) => asking(context, 'errorGroups(first: 100) { count fingerprint }', 8),
  },

  statistics: {
    prepare: oneQueue,
    run: (context) => {
      const { id } = context.queue;
      const from = new Date(Date.now() - 86_400_000).toISOString();
      const fields = `depth { due } health { answered2xx duration { p99 } } timeline(from: "${from}") { success duration { p99 } }`;
      return asking(context, `queue(id: "${id}") { ${fields} }`, 8);
    },
  },

  /** Single jobs of a mebibyte. */
  largeDocuments: {
    prepare: async (context) => {
      await pausedQueue(context, 0);
      const [client] = context.clients;
      context.jobs = [];
      await each(Array.from({ length: 20 }), 4, async () => {
        const { text } = await client.publish('attacker', { text: MEBIBYTE });
        context.jobs.push(JSON.parse(text).id);
      });
    },
    run: (context) =>
      inLoops(context, 64, async (n, round) => {
        const id = context.jobs[(n + round) % context.jobs.length];
        return (await context.clients[0].send('GET', `/v1/jobs/${id}`)).status === 200;
      }),
  },

  unreadLists: {
    prepare: (context) => pausedQueue(context, 100, { text: MEBIBYTE }),
    run: (context) => {
      const { host } = new URL(context.url);
      const path = `/v1/queues/${context.queue.id}/jobs?limit=100`;
      const request = `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${context.clients[0].key}\r\n\r\n`;
      return withoutReading(context, 12, request);
    },
  },

  subscriptions: {
    prepare: oneQueue,
    async run(context) {
      const query = `subscription { live(watch: { queueIds: ["${context.queue.id}"] }) { __typename } }`;
      await Promise.all([
        // One that is refused has ended at once.
        inLoops(context, 300, async () => {
          await context.clients[0].send('POST', '/graphql', { query }, { accept: 'text/event-stream' });
          return false;
        }),
        inLoops(context, 4, async () => (await context.clients[0].publish('attacker')).status === 201),
      ]);
    },
  },

  /** Subscriptions that come and go: all processes are notified of what each watches. */
  watches: {
    prepare: (context) => pausedQueue(context, 0),
    async run(context) {
      const ids = Array.from({ length: 100 }, (_, n) => `"${String(n).padStart(24, '0')}"`);
      const watch = `{ queueIds: ["${context.queue.id}"], jobIds: [${ids}] }`;
      const query = `subscription { live(minIntervalMs: 100, watch: ${watch}) { __typename } }`;
      await Promise.all([
        inLoops(context, 100, () => shortStream(context, subscriptionRequest(context, query))),
        inLoops(context, 16, async () => (await context.clients[0].publish('attacker')).status === 201),
      ]);
    },
  },

  unreadStreams: {
    prepare: oneQueue,
    async run(context) {
      const query = `subscription { jobUpdated(queueId: "${context.queue.id}") { jobs { id payloadText } } }`;
      await Promise.all([
        withoutReading(context, 100, subscriptionRequest(context, query)),
        inLoops(context, 16, async () => (await context.clients[0].publish('attacker', { text: 'x'.repeat(10_000) })).status === 201),
      ]);
    },
  },

  /** All dead letters of a queue, a mebibyte each, a thousand a call. */
  largeReplays: {
    prepare: (context) => pausedQueue(context, 0),
    run: (context) =>
      inLoops(context, 4, async () => {
        const path = `/v1/queues/${context.queue.id}/dlq/replay`;
        return (await context.clients[0].send('POST', path, { all: true })).status === 200;
      }),
  },

  bulkActions: {
    prepare: oneQueue,
    run: (context) =>
      inLoops(context, 8, async () => {
        const query = `mutation ($id: ID!) { replayDeadLetters(filter: {}, all: true, queueId: $id) { __typename } }`;
        const purge = `mutation ($id: ID!) { purgeQueue(id: $id) { __typename } }`;
        const [client] = context.clients;
        const started = await client.graphql(query, { id: context.queue.id });
        await client.graphql(purge, { id: context.queue.id });
        return started.errors === undefined;
      }),
  },
};
