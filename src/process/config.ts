import { z } from 'zod';
import { settingSchemas } from '../contract/settings.ts';
import { isSocketPath, MAX_SOCKET_PATH } from '../domain/listening-address.ts';
import { parsedUrl } from '../domain/parsed-url.ts';
import { DEFAULT_PLANS, type Plan, type PlanTable } from '../domain/plan.ts';
import type { QueueSettings } from '../domain/queue.ts';
import { LOG_LEVELS, type LogLevel } from '../telemetry/log.ts';
import { cidrs, nameServers, origins, UNIX_SOCKET } from './config/addresses.ts';
import { ALERT_VARIABLES, type AlertConfig, alertConfig } from './config/alerts.ts';
import { DATABASE_VARIABLES, databaseConfig, type ReplicaConfig } from './config/database.ts';
import { METRICS_VARIABLES, type MetricsConfig, metricsConfig } from './config/metrics.ts';
import { type OidcConfig, oidcConfig, SIGN_IN_VARIABLES } from './config/sign-in.ts';
import { STARTING_VARIABLES, type StartingConfig, startingConfig } from './config/starting.ts';
import { WORDING } from './config/wording.ts';

export type Role = 'all' | 'api' | 'worker';

/** The settings from the environment, parsed once. Times are milliseconds. */
export interface Config extends StartingConfig, AlertConfig {
  readonly role: Role;
  /** An address, a host name, or the path of a unix socket. */
  readonly host: string;
  readonly port: number;
  /** How long the process goes on serving after a signal, while it is not ready. */
  readonly shutdownDelayMs: number;
  /** Origins of pages that may call the API. */
  readonly corsOrigins: readonly string[];
  /** Whether each request is logged at the usual level. */
  readonly accessLog: boolean;
  /** Undefined: embedded PostgreSQL in `dataDir`. */
  readonly databaseUrl: string | undefined;
  /** Address of the server itself, if `databaseUrl` is that of a pooler. */
  readonly directDatabaseUrl: string | undefined;
  /** Null if GraphQL reads from the primary. */
  readonly replica: ReplicaConfig | null;
  readonly dataDir: string;
  readonly allowUnsafeDurability: boolean;
  readonly bootstrapApiKey: string | undefined;
  readonly bootstrapPlan: string;
  /** 32 bytes each. The first one encrypts, all decrypt. If empty, nothing is stored encrypted. */
  readonly encryptionKeys: readonly Uint8Array[];
  readonly webhookAllowCidrs: readonly string[];
  /** Name servers for the look-ups of webhooks, as `ip` or `ip:port`; null for those of the system. */
  readonly webhookDnsServers: readonly string[] | null;
  /** An HTTP proxy for all webhooks; undefined for none. */
  readonly webhookProxyUrl: string | undefined;
  readonly webhookTimeoutMs: number;
  readonly jobRetentionMs: number;
  readonly jobLifetimeMs: number;
  readonly retentionSweepMs: number;
  /** If the database's clock jumps by more than this, Jobferry stops irreversible work that depends on it. */
  readonly maxClockJumpMs: number;
  readonly plans: PlanTable;
  readonly signatureHeader: string;
  readonly templates: Readonly<Record<string, Partial<QueueSettings>>>;
  readonly maxBodyBytes: number;
  readonly workerCapacity: number;
  /** Requests per second in this process; null for no limit. */
  readonly requestRates: { readonly ofKey: number | null; readonly ofAccount: number | null };
  readonly logLevel: LogLevel;
  readonly metrics: MetricsConfig;
  readonly graphiql: boolean;
  readonly dashboard: boolean;
  /** Address of the dashboard in browsers, with a slash at its end; null if it is not known. */
  readonly publicUrl: URL | null;
  /** Address that report URLs begin with, without a slash at the end; null if deliveries have none. */
  readonly reportUrl: string | null;
  /** Proxies whose `X-Forwarded-For` is believed, as addresses and CIDRs. */
  readonly trustedProxies: readonly string[];
  readonly sessionMaxMs: number;
  /** Null if people sign in with API keys and links only. */
  readonly oidc: OidcConfig | null;
  /** The value of NODE_ENV, shown to people; `development` if it is not set. */
  readonly environment: string;
}

/** One or more variables are wrong; each line names one. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

const seconds = (fallback: number, min: number, max: number) =>
  z.coerce
    .number({ invalid_type_error: 'must be a number of seconds' })
    .min(min)
    .max(max)
    .default(fallback)
    .transform((value) => Math.round(value * 1000));
const integer = (fallback: number, min: number, max: number) =>
  z.coerce.number({ invalid_type_error: 'must be a whole number' }).int().min(min).max(max).default(fallback);
const flag = (fallback: boolean) =>
  z
    .enum(['0', '1', 'false', 'true'])
    .transform((value) => value === '1' || value === 'true')
    .default(fallback ? '1' : '0');

const limit = z.number().int().min(0).nullable();
const plan = z
  .object({
    queues: limit,
    monthlyAttempts: limit,
    includedAttempts: z.number().int().min(0),
    maxAttempts: settingSchemas.shape.maxAttempts,
    maxDefers: settingSchemas.shape.maxDefers,
    window: z.number().positive(),
  })
  .strict();
const template = settingSchemas
  .pick({
    mode: true,
    ackTimeout: true,
    backoffType: true,
    backoffDelay: true,
    maxAttempts: true,
    maxDefers: true,
    concurrency: true,
  })
  .partial()
  .strict();

const DEFAULT_TEMPLATES = {
  anthropic: { mode: 'ack', ackTimeout: 600, backoffType: 'exponential' },
  openai: { mode: 'ack', ackTimeout: 300, backoffType: 'exponential' },
} as const;

/** Headers that deliveries have, or that have a meaning in HTTP. */
const OWN_HEADERS = new Set([
  ...['accept-encoding', 'connection', 'content-length', 'content-type', 'expect', 'host', 'keep-alive', 'te'],
  ...['traceparent', 'tracestate', 'trailer', 'transfer-encoding', 'upgrade', 'user-agent'],
  ...['webhook-id', 'webhook-timestamp', 'webhook-signature'],
  ...['job', 'queue', 'attempt', 'ack-timeout', 'report-url', 'report-url-next'].map((name) => `x-jobferry-${name}`),
]);

const LOOPBACK = '127.0.0.0/8,::1/128';
const MAX_PERIOD = 366 * 86_400;

/** All variables, with their rules and defaults. */
export const environment = z.object({
  ROLE: z.enum(['all', 'api', 'worker']).default('all'),
  HOST: z
    .string()
    .refine(isHost, `must be an address, a host name, or the path of a unix socket of at most ${MAX_SOCKET_PATH} bytes`)
    .optional(),
  PORT: integer(8080, 0, 65_535),
  SHUTDOWN_DELAY_SECONDS: seconds(0, 0, 300),
  CORS_ORIGINS: z
    .string()
    .optional()
    .transform((text, context) => (text === undefined ? [] : origins(text, context))),
  ...DATABASE_VARIABLES,
  ...STARTING_VARIABLES,
  DATA_DIR: z.string().min(1).default('.data'),
  ALLOW_UNSAFE_DURABILITY: flag(false),
  BOOTSTRAP_API_KEY: z
    .string()
    .regex(/^[\x21-\x7e]{16,255}$/, 'must be 16 to 255 printable characters without spaces')
    .optional(),
  BOOTSTRAP_PLAN: z.string().default('pro'),
  ENCRYPTION_KEY: z
    .string()
    .optional()
    .transform((text, context) => (text === undefined ? [] : encryptionKeys(text, context))),
  WEBHOOK_ALLOW_CIDRS: z
    .string()
    .optional()
    .transform((text, context) => (text === undefined ? undefined : cidrs(text, context))),
  WEBHOOK_DNS_SERVERS: z
    .string()
    .optional()
    .transform((text, context) => (text === undefined ? null : nameServers(text, context))),
  WEBHOOK_PROXY_URL: z.string().refine(isProxyUrl, 'must be http://host:port or https://host:port').optional(),
  WEBHOOK_TIMEOUT_SECONDS: seconds(15, 0.05, 600),
  JOB_RETENTION_SECONDS: seconds(259_200, 1, MAX_PERIOD),
  JOB_LIFETIME_SECONDS: seconds(86_400, 1, MAX_PERIOD),
  RETENTION_SWEEP_SECONDS: seconds(60, 0.1, 86_400),
  MAX_CLOCK_JUMP_SECONDS: seconds(300, 1, MAX_PERIOD),
  PLANS: json(z.record(plan.partial())),
  SIGNATURE_HEADER: z
    .string()
    .toLowerCase()
    .regex(/^[a-z0-9!#$%&'*+.^_`|~-]{1,100}$/, 'must be the name of an HTTP header')
    .refine((name) => !OWN_HEADERS.has(name), 'is a header that deliveries already have')
    .default('x-service-signature'),
  TEMPLATES: json(z.record(template)),
  MAX_BODY_BYTES: integer(1_048_576, 1024, 64 * 1_048_576),
  WORKER_CAPACITY: integer(1000, 1, 100_000),
  REQUESTS_PER_SECOND_OF_KEY: integer(0, 0, 1_000_000),
  REQUESTS_PER_SECOND_OF_ACCOUNT: integer(0, 0, 1_000_000),
  LOG_LEVEL: z.enum(LOG_LEVELS).default('info'),
  ACCESS_LOG: flag(false),
  GRAPHIQL: flag(true).optional(),
  DASHBOARD: flag(true),
  SESSION_MAX_SECONDS: seconds(43_200, 60, MAX_PERIOD),
  OIDC_ONLY: flag(false),
  ...METRICS_VARIABLES,
  ...ALERT_VARIABLES,
  ...SIGN_IN_VARIABLES,
  NODE_ENV: z.string().optional(),
});

/** Names of all variables that are read. */
export const VARIABLES: readonly string[] = Object.keys(environment.shape);

/** @throws ConfigError that names every wrong variable. It repeats no values, because some are secrets. */
export function parseConfig(env: NodeJS.ProcessEnv): Config {
  // An empty variable counts as not set: compose files and shells often set variables to nothing.
  const given = Object.fromEntries(
    Object.entries(env).filter(([name, value]) => value !== '' || name === 'WEBHOOK_ALLOW_CIDRS'),
  );
  const blank = VARIABLES.filter((name) => given[name]?.trim() === '' && name !== 'WEBHOOK_ALLOW_CIDRS');
  if (blank.length > 0) throw new ConfigError(blank.map((name) => `${name}: has only spaces`).join('\n'));
  const parsed = environment.safeParse(given, { errorMap: WORDING });
  if (!parsed.success) throw new ConfigError(problems(parsed.error));
  const e = parsed.data;
  const production = e.NODE_ENV === 'production';
  const plans = mergePlans(e.PLANS ?? {});
  if (!Object.hasOwn(plans, e.BOOTSTRAP_PLAN)) {
    throw new ConfigError(`BOOTSTRAP_PLAN: must be one of ${Object.keys(plans).join(', ')}`);
  }
  const database = databaseConfig(e);
  if (typeof database === 'string') throw new ConfigError(database);
  const oidc = oidcConfig(e);
  if (typeof oidc === 'string') throw new ConfigError(oidc);
  const alerts = alertConfig(e);
  if (typeof alerts === 'string') throw new ConfigError(alerts);
  const host = e.HOST ?? (e.DATABASE_URL === undefined ? '127.0.0.1' : '0.0.0.0');
  if (e.TRUSTED_PROXIES.includes(UNIX_SOCKET) && !isSocketPath(host)) {
    throw new ConfigError(`TRUSTED_PROXIES: ${UNIX_SOCKET} needs the path of a unix socket in HOST`);
  }
  const isOnePort = !isSocketPath(host) && e.PORT !== 0 && e.METRICS_PORT === e.PORT;
  if (isOnePort) {
    throw new ConfigError(
      `METRICS_PORT: is that of PORT (${e.PORT}): choose another, or leave it out to serve both on PORT`,
    );
  }
  return Object.freeze({
    role: e.ROLE,
    host,
    port: e.PORT,
    shutdownDelayMs: e.SHUTDOWN_DELAY_SECONDS,
    corsOrigins: Object.freeze(e.CORS_ORIGINS),
    accessLog: e.ACCESS_LOG,
    ...database,
    ...startingConfig(e),
    dataDir: e.DATA_DIR,
    allowUnsafeDurability: e.ALLOW_UNSAFE_DURABILITY,
    bootstrapApiKey: e.BOOTSTRAP_API_KEY,
    bootstrapPlan: e.BOOTSTRAP_PLAN,
    encryptionKeys: Object.freeze(e.ENCRYPTION_KEY),
    webhookAllowCidrs: Object.freeze(e.WEBHOOK_ALLOW_CIDRS ?? (production ? [] : LOOPBACK.split(','))),
    webhookDnsServers: Object.freeze(e.WEBHOOK_DNS_SERVERS),
    webhookProxyUrl: e.WEBHOOK_PROXY_URL,
    webhookTimeoutMs: e.WEBHOOK_TIMEOUT_SECONDS,
    jobRetentionMs: e.JOB_RETENTION_SECONDS,
    jobLifetimeMs: e.JOB_LIFETIME_SECONDS,
    retentionSweepMs: e.RETENTION_SWEEP_SECONDS,
    maxClockJumpMs: e.MAX_CLOCK_JUMP_SECONDS,
    plans,
    signatureHeader: e.SIGNATURE_HEADER,
    templates: table((e.TEMPLATES ?? DEFAULT_TEMPLATES) as Config['templates']),
    maxBodyBytes: e.MAX_BODY_BYTES,
    workerCapacity: e.WORKER_CAPACITY,
    requestRates: { ofKey: e.REQUESTS_PER_SECOND_OF_KEY || null, ofAccount: e.REQUESTS_PER_SECOND_OF_ACCOUNT || null },
    logLevel: e.LOG_LEVEL,
    metrics: metricsConfig(e, host),
    ...alerts,
    graphiql: e.GRAPHIQL ?? !production,
    dashboard: e.DASHBOARD,
    publicUrl: e.PUBLIC_URL,
    reportUrl: e.REPORT_URL,
    trustedProxies: Object.freeze(e.TRUSTED_PROXIES),
    sessionMaxMs: e.SESSION_MAX_SECONDS,
    oidc,
    environment: e.NODE_ENV ?? 'development',
  });
}

/** PLANS over the built-in table, field by field; a new plan must be complete. */
function mergePlans(overrides: Record<string, object>): PlanTable {
  const merged: Record<string, Plan> = { ...DEFAULT_PLANS };
  const builtIn = Object.keys(DEFAULT_PLANS).join(', ');
  const missing: string[] = [];
  for (const [name, fields] of Object.entries(overrides)) {
    const whole = { ...DEFAULT_PLANS[name], ...fields };
    merged[name] = whole as Plan;
    const absent = Object.keys(plan.shape).filter((field) => !Object.hasOwn(whole, field));
    missing.push(
      ...absent.map((field) => `PLANS.${name}.${field}: must be given, because the plan is not built in (${builtIn})`),
    );
  }
  if (missing.length > 0) throw new ConfigError(missing.join('\n'));
  return table(merged);
}

/** Makes a table without a prototype: callers look up names that users send, and `constructor` must not be found. */
function table<T>(entries: Readonly<Record<string, T>>): Readonly<Record<string, T>> {
  return Object.freeze(Object.assign(Object.create(null), entries));
}

function json<T extends z.ZodTypeAny>(schema: T) {
  return z
    .string()
    .transform((text, context): unknown => {
      try {
        return JSON.parse(text);
      } catch {
        context.addIssue({ code: 'custom', message: 'must be JSON' });
        return z.NEVER;
      }
    })
    .pipe(schema)
    .optional();
}

/** Parses keys separated by commas. An error names the key's position, because it must not contain the key. */
function encryptionKeys(text: string, context: z.RefinementCtx): Uint8Array[] {
  return text.split(',').flatMap((entry, index) => {
    const key = encryptionKey(entry.trim());
    if (key !== null) return [key];
    const which = text.includes(',') ? `key ${index + 1} ` : '';
    context.addIssue({ code: 'custom', message: `${which}must be 32 bytes as base64 or as 64 hexadecimal digits` });
    return [];
  });
}

function encryptionKey(text: string): Uint8Array | null {
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, 'hex');
  // With or without padding, in either alphabet.
  return /^[A-Za-z0-9+/_-]{43}=?$/.test(text) ? Buffer.from(text, 'base64') : null;
}

function isHost(text: string): boolean {
  return isSocketPath(text) ? Buffer.byteLength(text) <= MAX_SOCKET_PATH : /^[^\s/[\]]+$/.test(text);
}

function isProxyUrl(text: string): boolean {
  const url = parsedUrl(text);
  if (url === null) return false;
  const { protocol, pathname, search, hash } = url;
  return /^https?:$/.test(protocol) && pathname === '/' && search === '' && hash === '';
}

function problems(error: z.ZodError): string {
  return error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`).join('\n');
}
