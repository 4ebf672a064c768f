import pg from 'pg';
import { expect, it } from 'vitest';
import { runJobferry } from '../../test/support/command.ts';
import { createTestDatabase } from '../../test/support/database.ts';
import { report } from './report.ts';

/** Trial 2, without failovers: what a command says about each way to write DATABASE_URL. */

async function saidAbout(databaseUrl: string): Promise<string> {
  const { code, stderr } = await runJobferry(['account', 'list'], { DATABASE_URL: databaseUrl, LOG_LEVEL: 'error' });
  // Lines that the driver prints by itself count, too: they are none of Jobferry's log.
  return code === 0 ? `works${stderr === '' ? '' : `, and prints: ${stderr.trim()}`}` : stderr.trim();
}

it('trial 2: each way to connect works, or is refused in words', async () => {
  const database = await createTestDatabase();
  const url = new URL(database.url);
  const with_ = (change: (changed: URL) => void) => {
    const changed = new URL(url);
    change(changed);
    return changed.href;
  };
  const several = url.href.replace(url.host, `${url.host},127.0.0.1:1`);
  const readOnly = await createTestDatabase();
  const client = new pg.Client({ connectionString: readOnly.url });
  await client.connect();
  const name = new URL(readOnly.url).pathname.slice(1);
  await client.query(`alter database ${name} set default_transaction_read_only = on`);
  await client.end();
  const found = {
    'several hosts, target_session_attrs=read-write': await saidAbout(`${several}?target_session_attrs=read-write`),
    'several hosts': await saidAbout(several),
    'several hosts, none there': await saidAbout('postgres://u@127.0.0.1:1,127.0.0.1:2/x'),
    'sslmode=require, a server without TLS': await saidAbout(
      with_((one) => one.searchParams.set('sslmode', 'require')),
    ),
    'a database that does not exist': await saidAbout(with_((one) => Object.assign(one, { pathname: '/nothing' }))),
    'a name that does not resolve': await saidAbout(
      with_((one) => Object.assign(one, { hostname: 'nothing.invalid' })),
    ),
    'default_transaction_read_only=on': await saidAbout(readOnly.url),
  };
  const words = JSON.parse(JSON.stringify(found).replaceAll(url.host, 'HOST')) as typeof found;
  await report('2 how it connects', words);
  expect(words['several hosts, target_session_attrs=read-write']).toBe('works');
});
