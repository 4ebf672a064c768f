import { connect } from 'node:net';
import { inLoops } from './loops.mjs';

const NOWHERE = 'http://127.0.0.1:9/';
const MEBIBYTE = 'x'.repeat(2 ** 20 - 200);
/** 65 408 bytes of lone surrogates, valid JSON (D26). */
const SURROGATES = `{"payload":{"a":"${'\\udc00'.repeat(10_900)}"}}`;
const PUBLISH_JOBS = 'mutation ($jobs: [PublishJobsInput!]!) { publishJobs(jobs: $jobs) { __typename } }';

/** A paused queue: what is published is stored, and nothing else happens. */
async function pausedQueue(context) {
  const [client] = context.clients;
  const { id } = await client.createQueue('flood', NOWHERE);
  await client.graphql('mutation ($id: ID!) { pauseQueue(id: $id) { __typename } }', { id });
  context.queue = { id };
}

export const publishing = {
  publishFlood: {
    prepare: pausedQueue,
    run: (context) =>
      inLoops(context, 256, async () => (await context.clients[0].publish('flood', { some: 'thing' })).status === 201),
  },

  /** Eight connections, a thousand jobs a call. */
  bulkPublish: {
    prepare: pausedQueue,
    run: (context) => {
      const jobs = Array.from({ length: 1000 }, (_, n) => ({ queue: 'flood', job: { payload: { n } } }));
      return inLoops(context, 8, async () => (await context.clients[0].graphql(PUBLISH_JOBS, { jobs })).errors === undefined);
    },
  },

  largePublishes: {
    prepare: pausedQueue,
    run: (context) =>
      inLoops(context, 32, async () => (await context.clients[0].publish('flood', { text: MEBIBYTE })).status === 201),
  },

  hostilePayloads: {
    prepare: pausedQueue,
    run: (context) =>
      inLoops(context, 2, async () => {
        const { status } = await context.clients[0].send('POST', '/v1/queues/flood/jobs', SURROGATES);
        return status === 201;
      }),
  },

  /** Edits, pauses and what they write into the audit log. */
  queueEdits: {
    prepare: pausedQueue,
    run: (context) =>
      inLoops(context, 32, async (n, round) => {
        const { clients: [client], queue } = context;
        if (n % 2 === 0) {
          const edited = await client.send('PUT', `/v1/queues/${queue.id}`, { concurrency: 1 + (round % 50) });
          return edited.status === 200;
        }
        const name = round % 2 === 0 ? 'resumeQueue' : 'pauseQueue';
        const { errors } = await client.graphql(`mutation ($id: ID!) { ${name}(id: $id) { __typename } }`, queue);
        return errors === undefined;
      }),
  },

  /** Queues that come and go, each with a job. */
  deletedQueues: {
    prepare: pausedQueue,
    run: (context) =>
      inLoops(context, 8, async (n, round) => {
        const [client] = context.clients;
        const created = await client.send('POST', '/v1/queues', { name: `come-${n}-${round}`, webhookUrl: NOWHERE, concurrency: 1 });
        if (created.status !== 201) return false;
        await client.publish(`come-${n}-${round}`);
        await client.send('DELETE', `/v1/queues/${JSON.parse(created.text).id}`);
        return true;
      }),
  },

  /** Keys in the right form, with the right checksum or without, that no account has. */
  junkKeys: {
    run: (context) =>
      inLoops(context, 64, async (n, round) => {
        const key = `${n % 2 === 0 ? 'jf_' : ''}${'junk'.repeat(8)}${n}-${round}`;
        await context.clients[0].send('GET', '/v1/queues', undefined, { authorization: `Bearer ${key}` });
        return true;
      }),
  },

  readiness: {
    run: (context) =>
      inLoops(context, 64, async () => {
        await context.clients[0].send('GET', '/readyz', undefined, { authorization: '' });
        return true;
      }),
  },

  idleSockets: {
    run: (context) => {
      const { hostname, port } = new URL(context.url);
      for (let n = 0; n < 2000; n += 1) {
        const socket = connect({ host: hostname, port: Number(port) }, () => socket.write('POST /v1/queues HTTP/1.1\r\n'));
        socket.on('error', () => undefined);
        socket.on('close', () => context.clients[0].count('cut off'));
      }
      return inLoops(context, 1, async () => false);
    },
  },
};
