import { beforeAll, describe, expect, it } from 'vitest';
import { runAdmin, runJobferry } from '../support/command.ts';
import { createTestDatabase } from '../support/database.ts';
import { openServices } from '../support/services.ts';
import { ID, UNKNOWN_ID } from '../support/shapes.ts';

/** The commands beside `serve` as processes: a result on stdout, or one line on stderr with the error. */

let databaseUrl: string;

beforeAll(async () => {
  databaseUrl = (await createTestDatabase()).url;
});

const run = (...args: string[]) => runJobferry(args, { DATABASE_URL: databaseUrl });

describe.concurrent('the admin commands', () => {
  it('make an account and a key, and revoke the key once', async () => {
    const account = await runAdmin<{ id: string }>(
      databaseUrl,
      ...['account', 'create', '--name', 'Zoë & Co', '--plan', 'free'],
    );
    expect(account).toEqual({ id: ID, name: 'Zoë & Co', plan: 'free' });
    const key = await runAdmin<{ id: string }>(databaseUrl, 'key', 'create', '--account', account.id);
    expect(key).toEqual({
      id: ID,
      accountId: account.id,
      name: null,
      key: expect.stringMatching(/^jf_[0-9A-Za-z]{46}$/),
    });
    const revoked = await runAdmin(databaseUrl, 'key', 'revoke', key.id);
    expect(revoked).toEqual({ id: key.id, revoked: true, changed: true });
    const again = await runAdmin(databaseUrl, 'key', 'revoke', key.id);
    expect(again).toEqual({ id: key.id, revoked: true, changed: false });
    const listed = await run('account', 'list');
    expect(listed).toMatchObject({ code: 0, stdout: expect.stringMatching(/Zoë & Co +free/) });
  });

  it('are in the audit log', async () => {
    const { id } = await runAdmin<{ id: string }>(
      databaseUrl,
      ...['account', 'create', '--name', 'audited', '--plan', 'pro'],
    );
    const key = await runAdmin<{ id: string; key: string }>(databaseUrl, 'key', 'create', '--account', id);
    await runAdmin(databaseUrl, 'key', 'revoke', key.id);
    const { db, auditOf } = openServices(databaseUrl);
    const operator = { actor_type: 'operator', actor_id: null, actor_label: 'operator' };
    const facts = { name: null, prefix: key.key.slice(0, 6), lastFour: key.key.slice(-4) };
    const account = { action: 'account.create', target_name: 'audited', after: { name: 'audited', plan: 'pro' } };
    expect(await auditOf(id)).toMatchObject([{ ...operator, ...account }]);
    expect(await auditOf(key.id)).toMatchObject([
      { ...operator, action: 'api_key.create', before: null, after: facts },
      { ...operator, action: 'api_key.revoke', before: facts, after: null },
    ]);
    expect(await db.query('select from audit_entry where account_id = $1', [id])).toHaveLength(3);
  });

  it("update the database's schema, and report what they did", async () => {
    expect(await runAdmin(databaseUrl, 'migrate')).toEqual({ applied: [] });
  });
});

describe.concurrent('a command that cannot be done', () => {
  it.each<[args: string[], said: RegExp, code?: 1 | 2]>([
    [['frobnicate'], /unknown command "frobnicate"/],
    [['account', 'frobnicate'], /unknown command "account frobnicate"/],
    [['serve', '--role', 'boss'], /--role must be all, api or worker/],
    [['serve', '--rule', 'api'], /unknown option --rule: did you mean --role\?$/m],
    [['queue', 'shwo', 'x'], /unknown command "queue shwo": did you mean "queue show"\?/],
    [['pubish', 'x'], /unknown command "pubish x": did you mean "publish"\?/],
    [['serve', 'api'], /unexpected argument "api"/],
    [['migrate', '--dry-run'], /unknown option --dry-run: the command takes --grant-to, --status and --json$/m],
    [['migrate', '-n'], /unknown option -n: the command takes --grant-to, --status and --json$/m],
    [['migrate', 'now'], /unexpected argument "now"/],
    [['completion', '--quick'], /unknown option --quick: the command takes no options$/m],
    [['account', 'create', '--name', 'x', '--plan', 'free', 'y'], /unexpected argument "y"/],
    [['key', 'revoke', UNKNOWN_ID, UNKNOWN_ID], /unexpected argument/],
    [['account', 'create', '--plan', 'free'], /--name is missing/],
    [['account', 'create', '--plan', 'free', '--name'], /--name needs a value/],
    [['account', 'create', '--name', '--plan', 'free'], /--name needs a value; .* --name=-…$/m],
    [['account', 'create', '--name', 'x', '--plan', 'gold'], /--plan must be one of free, pro/],
    [['key', 'create'], /--account is missing/],
    [['key', 'create', '--account', "'; drop table account; --"], /account/],
    [['key', 'revoke'], /ID is missing/],
    [['key', 'revoke', UNKNOWN_ID], new RegExp(`key ${UNKNOWN_ID} does not exist`), 1],
    [['account', 'create', '--plan', 'free', '--name', 'x'.repeat(65)], /--name must have 1 to 64 characters/],
    [['account', 'list', '--after', 'zzz'], /--after must be an id/],
    [['job', 'list', '--queue', 'x', '--status', 'FAILED'], /--status must be one of .*dead \(did you mean dead\?\)/],
    [['sign-in-link', '--account', 'zzz'], /account zzz does not exist: an id has 24 hexadecimal digits/],
    [['sign-in-link', '--account', UNKNOWN_ID], new RegExp(`account ${UNKNOWN_ID} does not exist`), 1],
    [['--account', UNKNOWN_ID, 'queue', 'list'], /options follow the command, as in: jobferry COMMAND --account …$/m],
    [['restore', '/nowhere/backup'], /^jobferry: \/nowhere\/backup cannot be read: there is no such file$/m, 1],
    [['restore', '/dev/null', '--check'], /^jobferry: \/dev\/null is not a file$/m, 1],
  ])('%j ends with 2, or with 1 if it was used well, and a line with the reason', async (args, said, expected = 2) => {
    const { code, stdout, stderr } = await run(...args);
    expect({ code, stdout }).toEqual({ code: expected, stdout: '' });
    expect(stderr).toMatch(/^jobferry: /m);
    expect(stderr).toMatch(said);
    expect(stderr, 'no stack').not.toMatch(/^\s+at /m);
  });

  it.each<[args: string[], variables: Record<string, string>, said: RegExp]>([
    [['migrate'], { BOOTSTRAP_API_KEY_FILE: '/nowhere/key' }, /BOOTSTRAP_API_KEY_FILE: .*ENOENT/],
    [['migrate'], { PORT_FILE: '/nowhere/port' }, /PORT_FILE: Jobferry does not read this variable/],
  ])('%j with %j ends with 1, too', async (args, variables, said) => {
    const { code, stdout, stderr } = await runJobferry(args, { DATABASE_URL: databaseUrl, ...variables });
    expect({ code, stdout, stderr }).toEqual({ code: 1, stdout: '', stderr: expect.stringMatching(said) });
  });

  it('is told by `config check` of every wrong variable', async () => {
    const { code, stdout } = await runJobferry(['config', 'check'], { PORT: 'x', WORKER_CAPACITY: '0', ROLE: 'boss' });
    expect({ code, stdout }).toEqual({
      code: 1,
      stdout: expect.stringMatching(
        /^wrong: ROLE: must be one of all, api, worker\nwrong: PORT: must be a whole number\nwrong: WORKER_CAPACITY: must be at least 1\n/,
      ),
    });
  });
});

describe.concurrent('without a database', () => {
  it.each([[['--help']], [['-h']], [[]], [['help']]])('%j shows how to use it', async (args) => {
    const { code, stdout } = await run(...args);
    expect(code).toBe(0);
    for (const command of ['serve', 'migrate', 'account create', 'key create', 'key revoke']) {
      expect(stdout).toContain(command);
    }
  });

  it.each<[string[], RegExp]>([
    [['key', 'create', '--help'], /^jobferry key create --account ID[\s\S]*--json/],
    [['key', '--help'], /key list[\s\S]*key create/],
    [['-h', 'key', 'create'], /^jobferry key create/],
    [['-v'], /^jobferry \d/],
    [['--json', '--help', 'config', 'check'], /^jobferry config check/],
    [['--version'], /^jobferry \d+\.\d+\.\d+( \([0-9a-f]{12}(-changed)?\))?$/],
  ])('%j prints', async (args, said) => {
    const { code, stdout } = await runJobferry(args, { DATABASE_URL: 'wrong' });
    expect({ code, stdout: stdout.trim() }).toEqual({ code: 0, stdout: expect.stringMatching(said) });
  });
});
