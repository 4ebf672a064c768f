import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { COMMANDS } from '../../src/cli/commands/index.ts';
import { defaultOf, REFERENCES, withPart } from '../../src/cli/commands/reference.ts';
import { MEANINGS } from '../../src/process/config/meanings.ts';
import { parseConfig, VARIABLES } from '../../src/process/config.ts';
import { doubtsAbout, PREFIX, prefixed, withSecretFiles } from '../../src/process/variables.ts';

let folder: string;
let file: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'jobferry-variables-'));
  file = join(folder, 'secret');
  await writeFile(file, 'the secret\n');
});

afterAll(() => rm(folder, { recursive: true }));

describe('a secret in a file', () => {
  it.each([
    'DATABASE_URL',
    'DIRECT_DATABASE_URL',
    'DATABASE_REPLICA_URL',
    'BOOTSTRAP_API_KEY',
    'ENCRYPTION_KEY',
    'WEBHOOK_PROXY_URL',
    'METRICS_TOKEN',
    'OIDC_CLIENT_SECRET',
  ])('%s_FILE is read', (name) => {
    expect(withSecretFiles({ [`${name}_FILE`]: file, PORT: '1' })).toEqual({ [name]: 'the secret', PORT: '1' });
  });

  it('is possible for every variable whose name is that of a secret', () => {
    const secrets = VARIABLES.filter((name) => /KEY|SECRET|TOKEN|PASSWORD|CREDENTIAL|_URL$/.test(name));
    // Public addresses, which contain no password, and a number of requests.
    const others = ['PAGERDUTY_URL', 'PUBLIC_URL', 'REPORT_URL', 'REQUESTS_PER_SECOND_OF_KEY'];
    expect(secrets).toEqual(expect.arrayContaining(['DATABASE_URL', 'METRICS_TOKEN', 'OIDC_CLIENT_SECRET']));
    for (const name of secrets.filter((secret) => !others.includes(secret))) {
      expect(withSecretFiles({ [`${name}_FILE`]: file }), name).toEqual({ [name]: 'the secret' });
    }
  });

  it('a secret both in a file and in the variable itself is refused', () => {
    expect(() => withSecretFiles({ ENCRYPTION_KEY: 'x', ENCRYPTION_KEY_FILE: file })).toThrow(
      'ENCRYPTION_KEY_FILE: ENCRYPTION_KEY is set as well',
    );
    expect(withSecretFiles({ ENCRYPTION_KEY: '', ENCRYPTION_KEY_FILE: file }).ENCRYPTION_KEY).toBe('the secret');
    expect(withSecretFiles({ ENCRYPTION_KEY: 'x', ENCRYPTION_KEY_FILE: '' }).ENCRYPTION_KEY).toBe('x');
  });

  it('must be there, and hold something', async () => {
    expect(() => withSecretFiles({ DATABASE_URL_FILE: join(folder, 'none') })).toThrow(/^DATABASE_URL_FILE: .*ENOENT/);
    await writeFile(join(folder, 'empty'), '\n');
    expect(() => withSecretFiles({ DATABASE_URL_FILE: join(folder, 'empty') })).toThrow('DATABASE_URL_FILE: is empty');
  });

  it('is refused for what is no secret, and left alone when it is not ours', () => {
    expect(() => withSecretFiles({ PORT_FILE: file })).toThrow(/^PORT_FILE: Jobferry does not read this variable/);
    expect(withSecretFiles({ MYSQL_PASSWORD_FILE: '/x' })).toEqual({ MYSQL_PASSWORD_FILE: '/x' });
  });
});

describe('a variable that is not read', () => {
  it.each([
    ['ENCRYPTON_KEY', 'ENCRYPTION_KEY'],
    ['BOOSTRAP_APIKEY', 'BOOTSTRAP_API_KEY'],
    ['DATABSE_URL', 'DATABASE_URL'],
    ['DATA_DRI', 'DATA_DIR'],
    ['PROT', 'PORT'],
    ['TRUST_PROXY', 'TRUSTED_PROXIES'],
    ['TRUSTED_PROXY', 'TRUSTED_PROXIES'],
    ['DB_URL', 'DATABASE_URL'],
    ['DATABASE_URL_FIL', 'DATABASE_URL_FILE'],
    ['JOB_RETENTION', 'JOB_RETENTION_SECONDS'],
    ['WEBHOOK_TIMEOUT', 'WEBHOOK_TIMEOUT_SECONDS'],
    ['JOBFERRY_PORT', 'PORT'],
    ['webhook_allow_cidrs', 'WEBHOOK_ALLOW_CIDRS'],
  ])('%s is taken for %s', (given, meant) => {
    expect(doubtsAbout({ [given]: 'x' })).toEqual([`Jobferry does not read ${given}: did you mean ${meant}?`]);
  });

  it('is of no interest when it is like none of ours', () => {
    const names = ['HOME', 'HOSTNAME', 'PATH', 'LANG', 'USER', 'SHELL', 'PWD', 'TERM', 'TZ', 'NODE_OPTIONS', 'LOGNAME'];
    const others = ['PGHOST', 'HTTP_PROXY', 'npm_config_user_agent', 'KUBERNETES_PORT', 'NODE_VERSION', 'PGDATA'];
    const ours = ['PORT', 'NODE_ENV', 'DATABASE_URL', 'ENCRYPTION_KEY'];
    expect(doubtsAbout(Object.fromEntries([...names, ...others, ...ours].map((name) => [name, 'x'])))).toEqual([]);
    expect(doubtsAbout({ PROT: '' })).toEqual([]);
  });

  it.each(['prod', 'Production', 'prd', 'produciton', 'PROD'])('takes NODE_ENV=%s for production', (value) => {
    expect(doubtsAbout({ NODE_ENV: value })).toEqual([`NODE_ENV=${value} is not production: did you mean production?`]);
  });

  it.each(['production', 'staging', 'development', 'preview', 'test'])('takes NODE_ENV=%s as it is', (value) => {
    expect(doubtsAbout({ NODE_ENV: value })).toEqual([]);
  });
});

describe('a service in the shell of an application', () => {
  it('reads only variables that begin with JOBFERRY_', () => {
    const ofApplication = Object.fromEntries(VARIABLES.map((name) => [name, 'x']));
    expect(prefixed({ ...ofApplication, JOBFERRY_PORT: '8090', JOBFERRY_ENCRYPTION_KEY_FILE: file })).toEqual({
      PORT: '8090',
      ENCRYPTION_KEY_FILE: file,
    });
  });

  it('has a database of its own, and is not in production', () => {
    const names = ['DATABASE_URL', 'DATABASE_URL_FILE', 'DIRECT_DATABASE_URL', 'DATABASE_REPLICA_URL', 'NODE_ENV'];
    expect(prefixed(Object.fromEntries(names.map((name) => [`JOBFERRY_${name}`, 'x'])))).toEqual({});
  });

  it('doubts names as they are set, and not those of a client', () => {
    const own = prefixed({ JOBFERRY_PROT: '1', PROT: '1', LOGLEVEL: 'x' });
    expect(doubtsAbout(own, PREFIX)).toEqual(['Jobferry does not read JOBFERRY_PROT: did you mean JOBFERRY_PORT?']);
    const ofClient = ['URL', 'API_KEY', 'SECRET', 'SECRET_EMAILS'].map((name) => [`JOBFERRY_${name}`, 'x']);
    expect(doubtsAbout(prefixed(Object.fromEntries(ofClient)), PREFIX)).toEqual([]);
  });
});

describe('the references', () => {
  const ROOT = fileURLToPath(new URL('../..', import.meta.url));
  const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

  it.each(Object.entries(REFERENCES))('%s is made from the present code (npm run generate)', (path, part) => {
    expect(read(path)).toBe(withPart(read(path), part()));
  });

  it('have every variable with its default, and every command', () => {
    const configuration = read('docs/configuration.md');
    const listed = Array.from(configuration.matchAll(/^\| `([A-Z_]+)` \|/gm), ([, name]) => name);
    expect(listed.toSorted()).toEqual([...VARIABLES].sort());
    expect(configuration).toMatch(/^\| `PORT` \| `8080` \| port to listen on/m);
    const cli = read('docs/cli.md');
    expect(COMMANDS.filter(({ name }) => !cli.includes(`\njobferry ${name}`)).map(({ name }) => name)).toEqual([]);
  });

  it('print defaults that mean the same as a variable that is not set', () => {
    const defaults = VARIABLES.flatMap((name) => {
      const value = defaultOf(name);
      return value === undefined ? [] : [[name, value] as const];
    });
    expect(defaults.length).toBeGreaterThan(20);
    expect(parseConfig(Object.fromEntries(defaults))).toEqual(parseConfig({}));
    // The text for a variable without a default would never be printed.
    expect(defaults.filter(([name]) => MEANINGS[name as keyof typeof MEANINGS].unset !== undefined)).toEqual([]);
  });

  it('are stale when the code has changed, and need a place', () => {
    const [[path = '', part = () => ''] = []] = Object.entries(REFERENCES);
    expect(withPart(read(path), `${part()}more\n`)).not.toBe(read(path));
    expect(() => withPart('# A document without a place', 'text')).toThrow('has no place');
  });
});
