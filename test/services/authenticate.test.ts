import pg from 'pg';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Database, Statement } from '../../src/db/connection/database.ts';
import { describeApiKey, generateApiKey, hashApiKey } from '../../src/services/accounts/api-key.ts';
import { createAuthenticate } from '../../src/services/accounts/authenticate.ts';
import { createAccount, type TestAccount } from '../support/account.ts';
import { createTestDatabase } from '../support/database.ts';
import { openServices } from '../support/services.ts';
import { waitFor } from '../support/wait-for.ts';

/** The cost of a request's key for the database. */

let url: string;
let account: TestAccount;
let authenticate: ReturnType<typeof createAuthenticate>['authenticate'];
let op: ReturnType<typeof openServices>;
/** Which were sent, but for the note that a key is in use, which goes beside the requests. */
let statements: unknown[];

beforeAll(async () => {
  ({ url } = await createTestDatabase());
  account = await createAccount(url);
  op = openServices(url);
  const { run } = op.db;
  const noting: typeof run = (statement) => {
    if (statement.name !== 'note-key-use') statements.push(statement);
    return run(statement);
  };
  Object.assign(op.db, { run: noting });
});

beforeEach(() => {
  statements = [];
  ({ authenticate } = createAuthenticate(op.context));
});

const wrong: [what: string, change: (key: string) => string][] = [
  ['another character', (key) => `jf_${key[3] === 'a' ? 'b' : 'a'}${key.slice(4)}`],
  ['another checksum', (key) => key.slice(0, -1) + (key.endsWith('a') ? 'b' : 'a')],
  ['two characters swapped', (key) => key.replace(/(?<!^.{0,2})(.)(?!\1)(.)/, '$2$1')],
  ['a character less', (key) => key.slice(0, -1)],
  ['a character more', (key) => `${key}0`],
  ['the checksum of nothing', () => 'jf_000000'],
  ['the prefix alone', () => 'jf_'],
  ['what is not base62', (key) => `jf_-${key.slice(4)}`],
  ['a line break at its end', (key) => `${key}\n`],
];

it.each(wrong)('a key with %s is refused without a query', async (_what, change) => {
  for (let n = 0; n < 3; n += 1) expect(await authenticate(change(account.key))).toBeNull();
  expect(statements).toEqual([]);
});

it('a good key costs one query, and none again for a moment', async () => {
  const found = await Promise.all(Array.from({ length: 20 }, () => authenticate(account.key)));
  expect(found.map((one) => one?.id)).toEqual(Array(20).fill(account.id));
  expect(statements).toHaveLength(1);
});

it('a key that was made elsewhere costs one query', async () => {
  expect(await authenticate(generateApiKey())).toBeNull();
  expect(statements).toHaveLength(1);
});

it('looks up a hash, and the database holds nothing else', async () => {
  await authenticate(account.key);
  expect(JSON.stringify(statements)).not.toContain(account.key.slice(3, -6));
  const rows = await op.db.query<{ row: object }>('select row_to_json(api_key) as row from api_key');
  const { hash, prefix, last_four: lastFour } = Object(rows[0]?.row) as Record<string, string>;
  expect([hash, prefix, lastFour]).toEqual([
    expect.stringMatching(/^[0-9a-f]{64}$/),
    account.key.slice(0, 6),
    account.key.slice(-4),
  ]);
  expect(JSON.stringify(rows)).not.toContain(account.key.slice(6, -4));
});

describe('a key of another form than ours', () => {
  it('costs no query of its own while there is no key that begins like it', async () => {
    const found = await Promise.all(Array.from({ length: 50 }, (_, n) => authenticate(`junk-${n}`)));
    expect(found).toEqual(Array(50).fill(null));
    expect(statements).toHaveLength(1);
  });

  it('is found when it was made known by BOOTSTRAP_API_KEY', async () => {
    const key = 'given-by-the-operator';
    const { hash, prefix, lastFour } = describeApiKey(key);
    await op.db.query('insert into api_key (account_id, hash, prefix, last_four) values ($1, $2, $3, $4)', [
      account.id,
      hash,
      prefix,
      lastFour,
    ]);
    expect(await createAuthenticate(op.context).authenticate(key)).toMatchObject({ id: account.id });
  });
});

it('strangers take two look-ups at once, and keep no known key waiting', async () => {
  let atOnce = 0;
  let most = 0;
  let free = () => {};
  const gate = new Promise<void>((resolve) => {
    free = resolve;
  });
  const known = new Set([hashApiKey(account.key)]);
  const slow: Database = Object.create(op.db, {
    run: {
      value: async (statement: Statement & { values: unknown[] }) => {
        if (known.has(String(statement.values[0]))) return op.db.query(statement, statement.values);
        atOnce += 1;
        most = Math.max(most, atOnce);
        await gate;
        atOnce -= 1;
        return [];
      },
    },
  });
  const { authenticate: asked } = createAuthenticate({ db: slow });
  expect(await asked(account.key)).not.toBeNull();
  const strangers = Promise.allSettled(Array.from({ length: 600 }, () => asked(generateApiKey())));
  await waitFor(async () => (await asked(account.key)) !== null && most === 2);
  free();
  const outcomes = await strangers;
  expect(most).toBe(2);
  // Requests above the number that may wait are refused for now.
  expect(outcomes.filter(({ status }) => status === 'rejected')).toHaveLength(600 - 502);
});

it('a key is found in a database that is read-only', async () => {
  const { url } = await createTestDatabase();
  const { id, key } = await createAccount(url);
  const admin = new pg.Client({ connectionString: url });
  await admin.connect();
  await admin.query(`alter database ${new URL(url).pathname.slice(1)} set default_transaction_read_only = on`);
  await admin.end();
  const readOnly = openServices(url);
  expect(await createAuthenticate(readOnly.context).authenticate(key)).toMatchObject({ id });
});

it('the use of a key is noted, though not by each request', async () => {
  const key = await createAccount(url);
  await Promise.all([authenticate(key.key), authenticate(key.key)]);
  const lastUse = `select last_used_at from api_key where hash = $1`;
  await waitFor(async () => (await op.db.one(lastUse, [hashApiKey(key.key)]))?.last_used_at);
});
