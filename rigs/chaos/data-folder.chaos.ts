import { type ChildProcess, spawn } from 'node:child_process';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { createApi } from '../../test/support/api.ts';
import { builtService } from '../../test/support/built.ts';
import { CONTAINER, mayUnshare, OWN_NETWORK } from '../../test/support/containers.ts';
import { type Jobferry, startJobferry } from '../../test/support/process.ts';
import { startReceiver } from '../../test/support/receiver.ts';
import { waitFor } from '../../test/support/wait-for.ts';

/**
 * F-53: processes of other containers begin on the data folder of a service, again and again, and the service is killed
 * meanwhile. Whatever it has accepted must be there and be delivered.
 */

const KEY = 'key-of-the-chaos-account';
const STRIKES = Number(process.env.CHAOS_INTRUSIONS ?? 20);
/** After so many intrusions the service is killed and started again. */
const KILL_EVERY = 5;
const PAUSE_MS = 25;
/** An intruder that is not refused until then runs. */
const REFUSED_WITHIN_MS = 60_000;

/** Starts a command in another container. @returns its exit code; null if it had to be ended */
async function intrude(env: Record<string, string>, ...args: string[]): Promise<number | null> {
  const child: ChildProcess = spawn('unshare', [...CONTAINER, OWN_NETWORK, process.execPath, builtService(), ...args], {
    stdio: 'ignore',
    env: { PATH: process.env.PATH, HOST: '127.0.0.1', PORT: '0', ...env },
  });
  const timer = setTimeout(() => child.kill('SIGKILL'), REFUSED_WITHIN_MS);
  return new Promise((resolve) =>
    child.once('close', (code) => {
      clearTimeout(timer);
      resolve(code);
    }),
  );
}

it.skipIf(!mayUnshare)('F-53: other containers on the data folder of a service', { timeout: 15 * 60_000 }, async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'jobferry-intruders-'));
  // The server's user has to pass through.
  await chmod(dataDir, 0o711);
  const env = { DATA_DIR: join(dataDir, 'data'), BOOTSTRAP_API_KEY: KEY };
  const receiver = await startReceiver();
  let service: Jobferry = await startJobferry({ env });
  onTestFinished(async () => {
    await service.kill('SIGKILL');
    await receiver.close();
    await rm(dataDir, { recursive: true, maxRetries: 5 });
  });
  const { name } = await createApi(service.baseUrl, KEY).createQueue({ name: 'kept', webhookUrl: receiver.url });

  const accepted: string[] = [];
  let isOver = false;
  const publish = async () => {
    for (let n = 0; !isOver; n++) {
      // While the service is killed it accepts nothing.
      const job = await createApi(service.baseUrl, KEY)
        .publish(name, { payload: { n } })
        .catch(() => null);
      if (job !== null) accepted.push(job.id);
      await wait(PAUSE_MS);
    }
  };
  const publishing = publish();
  for (let strike = 1; strike <= STRIKES; strike++) {
    const command = strike % 2 === 0 ? ['queue', 'list'] : ['serve'];
    expect(await intrude(env, ...command), `${command.join(' ')} in another container`).toBe(1);
    if (strike % KILL_EVERY !== 0) continue;
    await service.kill('SIGKILL');
    service = await startJobferry({ env });
  }
  isOver = true;
  await publishing;

  const delivered = () => new Set(receiver.requests.map((request) => request.json().id));
  const missing = () => {
    const arrived = delivered();
    return accepted.filter((id) => !arrived.has(id));
  };
  await waitFor(() => missing().length === 0, { timeoutMs: 120_000, message: 'the delivery of every accepted job' });
  expect(accepted.length).toBeGreaterThan(2 * STRIKES);
});
