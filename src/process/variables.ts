import { readFileSync } from 'node:fs';
import { isMisspelt } from '../domain/spelling.ts';
import { ConfigError, VARIABLES } from './config.ts';

type Environment = Record<string, string | undefined>;

/** Variables with secrets, which orchestrators may pass as files. */
export const SECRETS: readonly string[] = [
  'DATABASE_URL',
  'DIRECT_DATABASE_URL',
  'DATABASE_REPLICA_URL',
  'BOOTSTRAP_API_KEY',
  'ENCRYPTION_KEY',
  'WEBHOOK_PROXY_URL',
  'SMTP_URL',
  'METRICS_TOKEN',
  'OIDC_CLIENT_SECRET',
];

/** Begins the names of variables for a service that runs in the shell of an application. */
export const PREFIX = 'JOBFERRY_';

/**
 * Variables that no declared queue may have: its receiver would get them. The driver of PostgreSQL reads PGPASSWORD,
 * commands the key, and `dev` the secrets with their prefix.
 */
export const WITHHELD: readonly string[] = [
  ...SECRETS,
  ...SECRETS.map((name) => `${PREFIX}${name}`),
  'PGPASSWORD',
  'JOBFERRY_API_KEY',
];

/** Such a service brings its database along, and is always one for development. */
const FIXED = /^(?:DATABASE_URL|DIRECT_DATABASE_URL|DATABASE_REPLICA_URL)(?:_FILE)?$|^NODE_ENV$/;

/**
 * Returns the variables that begin with JOBFERRY_, without it: `JOBFERRY_PORT` as `PORT`. An application has variables
 * such as `PORT`, `HOST` and `LOG_LEVEL`, too, and they mean its own.
 */
export function prefixed(env: Environment): Environment {
  const own = Object.entries(env).filter(([name]) => name.startsWith(PREFIX));
  const plain = own.map(([name, value]) => [name.slice(PREFIX.length), value] as const);
  return Object.fromEntries(plain.filter(([name]) => !FIXED.test(name)));
}

/**
 * Returns the environment with each variable such as `DATABASE_URL_FILE` replaced by the content of its file, trimmed.
 * @throws ConfigError if a file cannot be read or is empty, or if the variable may not be or is already set another way
 */
export function withSecretFiles(env: Environment): Environment {
  const read = { ...env };
  for (const [variable, path] of Object.entries(env)) {
    const name = variable.slice(0, -'_FILE'.length);
    if (!variable.endsWith('_FILE') || !path || !VARIABLES.includes(name)) continue;
    if (!SECRETS.includes(name))
      throw new ConfigError(`${variable}: Jobferry does not read this variable, set ${name} instead`);
    if (env[name]) throw new ConfigError(`${variable}: ${name} is set as well`);
    delete read[variable];
    read[name] = contentOf(path, variable);
  }
  return read;
}

function contentOf(path: string, variable: string): string {
  let text: string;
  try {
    text = readFileSync(path, 'utf8').trim();
  } catch (error) {
    throw new ConfigError(`${variable}: cannot be read: ${(error as Error).message}`);
  }
  if (text === '') throw new ConfigError(`${variable}: is empty`);
  return text;
}

const READ: readonly string[] = [...VARIABLES, ...SECRETS.map((name) => `${name}_FILE`)];

/** Names that other programs have for the same. They differ by more than a misspelling. */
const ALIASES: ReadonlyMap<string, string> = new Map([
  ['TRUST_PROXY', 'TRUSTED_PROXIES'],
  ['TRUSTED_PROXY', 'TRUSTED_PROXIES'],
  ['DB_URL', 'DATABASE_URL'],
  ['POSTGRES_URL', 'DATABASE_URL'],
]);

/**
 * Returns a line for each variable that is probably misspelt: its name, or that of the environment.
 * @param prefix what the names have begun with
 */
export function doubtsAbout(env: Environment, prefix = ''): string[] {
  return Object.entries(env).flatMap(([name, value]) => {
    if (name === 'NODE_ENV' && value !== 'production' && /^p(ro)?r?d/i.test(value ?? '')) {
      return [`NODE_ENV=${value?.slice(0, 40)} is not production: did you mean production?`];
    }
    if (!value || VARIABLES.includes(name) || VARIABLES.includes(name.replace(/_FILE$/, ''))) return [];
    const plain = name.toUpperCase().replace(/^JOBFERRY_/, '');
    const meant = READ.find((known) => isLike(plain, known)) ?? ALIASES.get(plain);
    return meant === undefined ? [] : [`Jobferry does not read ${prefix}${name}: did you mean ${prefix}${meant}?`];
  });
}

/** Whether the name is misspelt, or lacks its unit. */
function isLike(name: string, known: string): boolean {
  if (name.includes('_') && known.startsWith(`${name}_`)) return true;
  return isMisspelt(name, known);
}
