import { chmod, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createApi } from '../../test/support/api.ts';
import { runJobferry } from '../../test/support/command.ts';
import { atEndOfFile } from '../../test/support/end-of-file.ts';
import { startJobferry } from '../../test/support/process.ts';
import { waitFor } from '../../test/support/wait-for.ts';
import { CAN_MOUNT, fillWith, mountSmallDisk } from '../chaos/disk.ts';
import { TrialLoad } from './load.ts';
import { report } from './report.ts';
import { POSTGRES_15, startInstalled } from './server.ts';

const KEY = 'key-of-the-bootstrap-account';
const FULL_MS = 29_000;

describe.skipIf(POSTGRES_15 === null || !CAN_MOUNT)('trial 9: a full disk', () => {
  it('a disk that is full for 29 s under load loses nothing, and all goes on when there is room again', async () => {
    const disk = await mountSmallDisk(220);
    atEndOfFile(() => disk.unmount());
    await chmod(disk.folder, 0o755);
    const server = await startInstalled(disk.folder);
    const jobferry = await startJobferry({ databaseUrl: server.url, env: { BOOTSTRAP_API_KEY: KEY } });
    const client = createApi(jobferry.baseUrl, KEY);
    const load = await TrialLoad.open(() => client);
    const publishing = load.publish(30 * 60, 30);
    await waitFor(() => load.accepted.length >= 300, { timeoutMs: 60_000 });
    const linesBefore = jobferry.logs.length;
    const doctor = () => runJobferry(['doctor'], { DATABASE_URL: server.url });
    expect((await doctor()).stdout).toMatch(/^ok +disk /m);
    const filler = join(disk.folder, 'filler');
    const until = performance.now() + FULL_MS;
    const url = jobferry.baseUrl;
    // Space that the server frees is filled as well.
    while (performance.now() < until) {
      await fillWith(filler);
      await sleep(500);
    }
    const { checks } = (await (await fetch(`${url}/readyz`)).json()) as { checks: Record<string, string> };
    expect(checks).toMatchObject({ database: 'ok', writes: 'refused: the disk of the database is full' });
    expect((await doctor()).stdout).toMatch(/^problem +disk +the disk of the database is full/m);
    expect(jobferry.logs).toContainEqual(expect.objectContaining({ level: 'error', sqlState: '53100' }));
    const lines = jobferry.logs.slice(linesBefore).filter(({ msg }) => msg !== 'attempt').length;
    await rm(filler);
    await publishing;
    const verdict = await load.judge(server.url);
    await report('9 a full disk', { ...verdict, logLinesWhileFull: lines });
    expect(verdict).toMatchObject({ gone: 0, undelivered: 0 });
    expect(verdict.answers).not.toHaveProperty('500');
  });
});
