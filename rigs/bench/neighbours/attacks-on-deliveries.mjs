import { createServer } from 'node:http';
import { each, inLoops } from './loops.mjs';

const MEBIBYTE = 'x'.repeat(2 ** 20 - 200);

/** A webhook of the attacker's; resolves with its address. */
function receiver(respond) {
  const server = createServer((message, response) => {
    message.resume();
    message.on('end', () => respond(response));
  });
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve(`http://127.0.0.1:${server.address().port}/`));
  });
}

const ok = (response) => response.end();
const never = () => undefined;

/** Endless bytes, as fast as the other side takes them. */
function endlessly(response) {
  const chunk = Buffer.alloc(64 * 1024, 120);
  const more = () => {
    while (!response.destroyed && response.write(chunk));
  };
  response.writeHead(200);
  response.on('drain', more);
  more();
}

/** Two queues of 500 and twice as many jobs for each account. */
function bothQueues(respond) {
  return {
    async prepare({ clients }) {
      const url = await receiver(respond);
      for (const client of clients) {
        for (const name of ['one', 'two']) {
          await client.createQueue(name, url, { concurrency: 500, backoffType: 'fixed', backoffDelay: 0, maxAttempts: 10 });
        }
      }
    },
    async run(context) {
      for (const client of context.clients) {
        const names = Array.from({ length: 2000 }, (_, n) => (n % 2 === 0 ? 'one' : 'two'));
        await each(names, 50, (name) => client.publish(name));
      }
    },
  };
}

/** A queue in ack mode, whose jobs are reported on as soon as they are published. */
function reportsBy(report) {
  return {
    async prepare({ clients: [client] }) {
      await client.createQueue('ack', await receiver(ok), { mode: 'ack', concurrency: 500, ackTimeout: 60 });
    },
    async run(context) {
      const [client] = context.clients;
      await inLoops(context, 64, async () => {
        const { status, text } = await client.publish('ack');
        return status === 201 && report(client, JSON.parse(text).id);
      });
    },
  };
}

export const deliveries = {
  hangingReceiver: bothQueues(never),
  floodingReceiver: bothQueues(endlessly),

  slowReceiver: {
    async prepare({ clients: [client] }) {
      const url = await receiver((response) => setTimeout(() => response.end(), 1000));
      for (const name of ['one', 'two']) await client.createQueue(name, url, { concurrency: 500 });
    },
    async run(context) {
      await inLoops(context, 50, async (n) => (await context.clients[0].publish(n % 2 === 0 ? 'one' : 'two')).status === 201);
    },
  },

  /** 80 of 1 MiB to a webhook that never answers; retries need no upload. */
  largePayloads: {
    async prepare({ clients: [client] }) {
      const url = await receiver(never);
      await client.createQueue('large', url, { concurrency: 100, backoffType: 'fixed', backoffDelay: 0, maxAttempts: 10 });
    },
    async run({ clients: [client] }) {
      await each(Array.from({ length: 80 }), 4, () => client.publish('large', { text: MEBIBYTE }));
    },
  },

  /** As many queues as the free plan has, each with a name that no name server answers. */
  namesWithoutAnswer: {
    async prepare({ clients: [client] }) {
      for (let n = 0; n < 5; n += 1) {
        const settings = { concurrency: 100, backoffType: 'fixed', backoffDelay: 0, maxAttempts: 10 };
        await client.createQueue(`slow-${n}`, `http://h${n}.slow.test:81/`, settings);
      }
    },
    async run(context) {
      await inLoops(context, 5, async (n) => (await context.clients[0].publish(`slow-${n}`)).status === 201);
    },
  },

  /** 900 queues that always have a job. */
  manyQueues: {
    async prepare({ clients: [client] }) {
      const url = await receiver(ok);
      const names = Array.from({ length: 900 }, (_, n) => `q-${n}`);
      await each(names, 20, (name) => client.createQueue(name, url, { concurrency: 1 }));
    },
    async run(context) {
      await inLoops(context, 30, async (n, round) => {
        const { status } = await context.clients[0].publish(`q-${(n + round * 30) % 900}`);
        return status === 201;
      });
    },
  },

  /**
   * A long backlog to a webhook that answers at once: as many claims, deliveries and outcomes as the process can do.
   */
  backlog: {
    async prepare(context) {
      const [client] = context.clients;
      const url = await receiver(ok);
      context.queues = [];
      for (const name of ['one', 'two']) {
        const { id } = await client.createQueue(name, url, { concurrency: 500 });
        await client.graphql('mutation ($id: ID!) { pauseQueue(id: $id) { __typename } }', { id });
        context.queues.push(id);
      }
    },
    async run({ clients: [client], queues }) {
      for (const id of queues) await client.graphql('mutation ($id: ID!) { resumeQueue(id: $id) { __typename } }', { id });
    },
  },

  /** Jobs in ack mode, each reported on many times. */
  reports: reportsBy(async (client, id) => {
    for (let n = 0; n < 10; n += 1) await client.send('POST', `/v1/jobs/${id}/ack`);
    return true;
  }),

  /** Thirty reports on a job in one request, which comes before its delivery has been settled. */
  reportsByGraphql: reportsBy(async (client, id) => {
    const reports = Array.from({ length: 30 }, (_, n) => `a${n}: ackJob(id: "${id}") { __typename }`);
    return (await client.graphql(`mutation { ${reports.join(' ')} }`)).errors === undefined;
  }),
};
