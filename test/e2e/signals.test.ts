import { beforeAll, expect, it } from 'vitest';
import { createApi } from '../support/api.ts';
import { createTestDatabase } from '../support/database.ts';
import { startJobferry } from '../support/process.ts';
import { openReceiver } from '../support/service.ts';
import { openServices } from '../support/services.ts';
import { waitFor } from '../support/wait-for.ts';

/** The reactions of a running service to signals; SIGTERM and Ctrl-C are elsewhere. */

const KEY = 'key-of-the-bootstrap-account';
let databaseUrl: string;

beforeAll(async () => {
  databaseUrl = (await createTestDatabase()).url;
});

it('opens no debugger on SIGUSR1, raises its log level on SIGUSR2, and finishes its deliveries when its terminal is closed', async () => {
  const jobferry = await startJobferry({ databaseUrl, env: { BOOTSTRAP_API_KEY: KEY, PROT: '1' } });
  expect(jobferry.logs).toContainEqual(
    expect.objectContaining({ level: 'warn', msg: 'Jobferry does not read PROT: did you mean PORT?' }),
  );
  process.kill(jobferry.pid, 'SIGUSR1');
  await waitFor(() => jobferry.logs.some(({ msg }) => msg.includes('SIGUSR1')), { message: 'a line about it' });
  process.kill(jobferry.pid, 'SIGUSR2');
  const raised = { level: 'warn', logLevel: 'debug', msg: 'the log level is raised to debug for ten minutes' };
  await waitFor(() => jobferry.logs.some(({ msg }) => msg === raised.msg), { message: 'a line about the level' });
  expect(jobferry.logs).toContainEqual(expect.objectContaining(raised));
  expect(jobferry.output.join('\n')).not.toMatch(/debugger/i);

  const api = createApi(jobferry.baseUrl, KEY);
  const receiver = await openReceiver({ delayMs: 500 });
  const queue = await api.createQueue({ webhookUrl: receiver.url });
  const { id } = await api.publish(queue.name);
  await waitFor(() => receiver.inFlight === 1, { message: 'the delivery' });
  expect(await jobferry.kill('SIGHUP')).toEqual({ code: 0, signal: null });
  const { db } = openServices(databaseUrl);
  expect(await db.query('select status, attempts from job where id = $1', [id])).toEqual([
    { status: 'completed', attempts: 1 },
  ]);
});
