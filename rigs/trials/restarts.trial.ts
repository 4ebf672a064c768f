import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { freePort } from '../../src/db/embedded/free-port.ts';
import { createApi } from '../../test/support/api.ts';
import { startNginx } from '../../test/support/balancer.ts';
import { createTestDatabase } from '../../test/support/database.ts';
import { type Jobferry, type JobferryOptions, startJobferry } from '../../test/support/process.ts';
import { TrialLoad } from './load.ts';
import { report } from './report.ts';

const KEY = 'key-of-the-bootstrap-account';
const NGINX = process.env.NGINX ?? '/usr/sbin/nginx';
/** As many requests as in the first trial, at its rate: 50 s. */
const JOBS = 2000;
const PER_SECOND = 40;

describe.skipIf(!existsSync(NGINX))('trial 5: restarts', () => {
  it('restarts of two APIs behind nginx and two workers, pair after pair, lose no request', async () => {
    const { url: databaseUrl } = await createTestDatabase();
    const env = { BOOTSTRAP_API_KEY: KEY, SHUTDOWN_DELAY_SECONDS: '2' };
    const [first, second, front] = [await freePort(), await freePort(), await freePort()];
    const settings: JobferryOptions[] = [
      ...[first, second].map((port) => ({ databaseUrl, role: 'api' as const, env: { ...env, PORT: String(port) } })),
      ...[1, 2].map(() => ({ databaseUrl, role: 'worker' as const, env })),
    ];
    const processes: Jobferry[] = await Promise.all(settings.map(startJobferry));
    const nginx = await startNginx(NGINX, [`127.0.0.1:${first}`, `127.0.0.1:${second}`], front);
    const client = createApi(`http://127.0.0.1:${front}`, KEY);
    const load = await TrialLoad.open(() => client);
    let isOver = false;
    const publishing = load.publish(JOBS, PER_SECOND).finally(() => {
      isOver = true;
    });
    const stops: number[] = [];
    const restart = async (n: number) => {
      const from = performance.now();
      expect(await processes[n]?.kill('SIGTERM')).toEqual({ code: 0, signal: null });
      stops.push(Math.round(performance.now() - from));
      processes[n] = await startJobferry(settings[n]);
    };
    let pairs = 0;
    for (; !isOver; pairs += 1) await Promise.all([restart(pairs % 2), restart(2 + (pairs % 2))]);
    await publishing;
    const verdict = await load.judge(databaseUrl);
    const found = { ...verdict, restarts: { api: pairs, worker: pairs }, longestStopMs: Math.max(...stops) };
    await report('5 restarts behind nginx', { ...found, nginxErrors: nginx.failed.length });
    expect(verdict).toMatchObject({ answers: { 201: JOBS }, gone: 0, undelivered: 0, repeated: 0 });
    expect(Object.keys(verdict.reports)).toEqual(['200']);
    expect(pairs).toBeGreaterThanOrEqual(4);
  });
});
