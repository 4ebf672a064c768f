import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { VARIABLES } from '../src/config.ts';
import { doubtsAbout, withSecretFiles } from '../src/variables.ts';

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
    // A public address, which contains no password, and a number of requests.
    const others = ['PUBLIC_URL', 'REQUESTS_PER_SECOND_OF_KEY'];
    expect(secrets).toEqual(expect.arrayContaining(['DATABASE_URL', 'METRICS_TOKEN', 'OIDC_CLIENT_SECRET']));
    for (const name of secrets.filter((secret) => !others.includes(secret))) {
      expect(withSecretFiles({ [`${name}_FILE`]: file }), name).toEqual({ [name]: 'the secret' });
    }
  });

  it('and in the variable itself is one too many', () => {
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
