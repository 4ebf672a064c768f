import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { freePort } from '../../../dist/src/db/embedded/free-port.js';
import { cpuOfFamily } from '../measure/processes.mjs';
import { startChild } from './child.mjs';

/**
 * A Redis server that writes every change to a file and flushes that once a second (`everysec`) or before each
 * answer (`always`). With REDIS_URL that server is set so for the time of the run.
 */
export async function startRedis(dataDir, appendfsync) {
  return process.env.REDIS_URL ? borrowRedis(process.env.REDIS_URL, appendfsync) : ownRedis(dataDir, appendfsync);
}

async function ownRedis(dataDir, appendfsync) {
  const dir = await mkdtemp(join(dataDir, 'redis-'));
  const port = await freePort();
  const settings = { port, dir, appendfsync, bind: '127.0.0.1', appendonly: 'yes', save: '', 'maxmemory-policy': 'noeviction' };
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const child = await startChild('redis-server', args, { ready: /Ready to accept connections/ });
  return {
    url: `redis://127.0.0.1:${port}`,
    cpu: () => cpuOfFamily(child.pid),
    async stop() {
      await child.stop();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

async function borrowRedis(url, appendfsync) {
  const client = new Redis(url, { lazyConnect: true, maxRetriesPerRequest: 1 });
  client.on('error', () => undefined);
  await client.connect();
  const before = {};
  for (const [name, value] of Object.entries({ appendonly: 'yes', appendfsync })) {
    before[name] = (await client.config('GET', name))[1];
    await client.config('SET', name, value);
  }
  // Queried from time to time, because a sample must not wait for the network.
  let cpu = 0;
  const ask = async () => {
    const info = await client.info('cpu');
    const seconds = ['used_cpu_sys', 'used_cpu_user'].map((name) => Number(new RegExp(`^${name}:(.*)`, 'm').exec(info)[1]));
    cpu = (seconds[0] + seconds[1]) * 1e6;
  };
  await ask();
  const timer = setInterval(() => ask().catch(() => undefined), 100);
  return {
    url,
    cpu: () => cpu,
    async stop() {
      clearInterval(timer);
      for (const [name, value] of Object.entries(before)) await client.config('SET', name, value);
      client.disconnect();
    },
  };
}
