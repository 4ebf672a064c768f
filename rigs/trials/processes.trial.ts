import { spawnSync } from 'node:child_process';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { createApi } from '../../test/support/api.ts';
import { openFolder } from '../../test/support/backup.ts';
import { runJobferry } from '../../test/support/command.ts';
import { createTestDatabase } from '../../test/support/database.ts';
import { startJobferry } from '../../test/support/process.ts';
import { statusOf } from '../../test/support/status.ts';
import { report } from './report.ts';

const KEY = 'key-of-the-bootstrap-account';
const UNITS = join(import.meta.dirname, '../../deploy/systemd');
const hasNoSystemd = spawnSync('systemd-analyze', ['--version']).status !== 0;

describe('trial 5: another version', () => {
  it('has migrated: running processes go on, a start and commands are refused, and nothing migrates by mistake', async () => {
    const { url } = await createTestDatabase();
    const running = await startJobferry({ databaseUrl: url, env: { BOOTSTRAP_API_KEY: KEY } });
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    await client.query(
      `insert into _prisma_migrations (id, checksum, migration_name, finished_at) values ('later', 'x', '29991231_later', now())`,
    );
    await client.end();
    const api = createApi(running.baseUrl, KEY);
    const queue = await api.call('POST', '/v1/queues', { name: 'q', webhookUrl: 'http://127.0.0.1:9/' });
    const ended = await Promise.all(
      [['serve'], ['account', 'list'], ['backup', '/tmp/never'], ['migrate', '--dry-run']].map(async (args) => {
        const { code, stderr } = await runJobferry(args, { DATABASE_URL: url });
        return [args.join(' '), { code, said: stderr.trim().split('\n').at(-1) }] as const;
      }),
    );
    const found = {
      ready: await statusOf(running.baseUrl, '/readyz'),
      newQueue: queue.status,
      ...Object.fromEntries(ended),
    };
    await report('5 a later version has migrated', found);
    expect(found).toMatchObject({ ready: 200, newQueue: 201 });
    for (const [, { code }] of ended) expect(code).toBe(1);
  });
});

describe.skipIf(hasNoSystemd)('trial 6: systemd', () => {
  it('finds the units in order, and what they expose', async () => {
    const folder = await openFolder();
    await mkdir(join(folder, 'units'));
    // The paths of an installation are not here: only those are replaced.
    for (const name of (await readdir(UNITS)).filter((file) => file.endsWith('.service'))) {
      const unit = await readFile(join(UNITS, name), 'utf8');
      await writeFile(join(folder, 'units', name), unit.replace(/^ExecStart=\S+/m, `ExecStart=${process.execPath}`));
    }
    const units = (await readdir(join(folder, 'units'))).map((name) => join(folder, 'units', name));
    const verified = spawnSync('systemd-analyze', ['verify', ...units], { encoding: 'utf8' });
    const exposed = spawnSync('systemd-analyze', ['security', '--offline=true', '--no-pager', ...units], {
      encoding: 'utf8',
    });
    const found = {
      verify: verified.stderr
        .trim()
        .split('\n')
        .filter((line) => line.includes(folder)),
      exposure: [...exposed.stdout.matchAll(/exposure level for (\S+): ([\d.]+ \w+)/g)].map(
        ([, unit, level]) => `${unit}: ${level}`,
      ),
    };
    await report('6 systemd', found);
    expect(found.verify).toEqual([]);
  });
});
