import { beforeAll, beforeEach, expect, it } from 'vitest';
import { generateApiKey } from '../../src/services/api-key.ts';
import { createAuthenticate } from '../../src/services/authenticate.ts';
import { createAccount, type TestAccount } from '../support/account.ts';
import { createTestDatabase } from '../support/database.ts';
import { openOperations } from '../support/operations.ts';

/** What a request's key costs the database. */

let account: TestAccount;
let authenticate: ReturnType<typeof createAuthenticate>;
let op: ReturnType<typeof openOperations>;
let statements: unknown[];

beforeAll(async () => {
  const { url } = await createTestDatabase();
  account = await createAccount(url);
  op = openOperations(url);
  const query = op.db.pool.query.bind(op.db.pool);
  op.db.pool.query = ((...args: Parameters<typeof query>) => {
    statements.push(args[0]);
    return query(...args);
  }) as typeof op.db.pool.query;
});

beforeEach(() => {
  statements = [];
  authenticate = createAuthenticate(op.context);
});

const wrong: [what: string, change: (key: string) => string][] = [
  ['another character', (key) => `jf_${key[3] === 'a' ? 'b' : 'a'}${key.slice(4)}`],
  ['another checksum', (key) => key.slice(0, -1) + (key.endsWith('a') ? 'b' : 'a')],
  ['two characters swapped', () => `jf_ba${generateApiKey().slice(5)}`],
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

it('asks for a hash, and the database holds nothing else', async () => {
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
