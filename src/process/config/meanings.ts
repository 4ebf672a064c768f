import type { environment } from '../config.ts';

export interface Meaning {
  /** The behaviour while the variable is not set, if its schema has no default. */
  readonly unset?: string;
  readonly meaning: string;
}

/** The texts of docs/configuration.md about each variable, in its order: Markdown, with links from that folder. */
export const MEANINGS: Readonly<Record<keyof typeof environment.shape, Meaning>> = {
  PORT: { meaning: 'port to listen on; 0 takes any free port' },
  HOST: {
    unset: '`127.0.0.1`; with `DATABASE_URL` `0.0.0.0`',
    meaning:
      'address to listen on: a name, an IPv4 or IPv6 address (`::` is all of both), or the path of a unix socket, such as `/run/jobferry/api.sock`',
  },
  LISTEN_WHEN: {
    meaning:
      '`ready`: the port is opened when the process is ready, so that a proxy without health checks uses others until then; [health](operations.md#health)',
  },
  QUEUES_FILE: {
    unset: 'not set',
    meaning:
      'file of [queues](cli.md#queues-as-a-file) that the first account is given at each start: those that are missing are created, and settings that differ are changed',
  },
  SHUTDOWN_DELAY_SECONDS: {
    meaning:
      'how long a process that is stopping still serves requests while `/readyz` is 503, up to 300. Behind a load balancer: longer than it needs to notice',
  },
  DATABASE_URL: {
    unset: 'not set: embedded PostgreSQL',
    meaning:
      '`postgres://…` of PostgreSQL 15 or later; can name several hosts, see [operations](operations.md#several-database-hosts)',
  },
  DIRECT_DATABASE_URL: {
    unset: 'not set: `DATABASE_URL` is the server itself',
    meaning:
      'the server itself, if `DATABASE_URL` is a pooler in transaction mode, see [operations](operations.md#a-pooler)',
  },
  DATABASE_REPLICA_URL: {
    unset: 'not set: all reads use `DATABASE_URL`',
    meaning: "a standby from which GraphQL's queries read, see [operations](operations.md#a-replica)",
  },
  REPLICA_MAX_LAG_SECONDS: { meaning: 'a standby that is further behind is not read, 1–3600' },
  DATA_DIR: { meaning: 'folder of the embedded database and of `api-key`' },
  AUTO_MIGRATE: {
    meaning:
      '`0`: `serve` changes nothing of the schema, and does not start on a database that needs `migrate`, see [operations](operations.md#a-role-that-may-not-change-the-schema)',
  },
  ALLOW_UNSAFE_DURABILITY: {
    meaning:
      '`1` accepts a server with `fsync`, `synchronous_commit` or `full_page_writes` off, or whose commits do not wait for its synchronous standbys',
  },
  ROLE: { meaning: '`api`, `worker`; `--role` overrides it' },
  BOOTSTRAP_API_KEY: {
    unset: 'not set: a key is created with the first account',
    meaning:
      "a key of the first account, which is the [operator's](accounts.md#the-operators-account), 16–255 printable characters without spaces",
  },
  BOOTSTRAP_PLAN: { meaning: 'plan of the first account' },
  ENCRYPTION_KEY: {
    unset: 'not set: secrets are stored as they are',
    meaning:
      '32 bytes as base64 or hexadecimal, as from `openssl rand -base64 32`. Separate several keys by commas: the first encrypts, all decrypt. See [SECURITY.md](../SECURITY.md)',
  },
  WEBHOOK_ALLOW_CIDRS: {
    unset: '`127.0.0.0/8,::1/128`; none with `NODE_ENV=production`',
    meaning: 'address blocks that are not public and yet allowed for webhooks; empty means none',
  },
  WEBHOOK_DNS_SERVERS: {
    unset: "the system's",
    meaning: 'name servers for webhook URLs, as `10.0.0.53,[fd00::53]:53`',
  },
  WEBHOOK_PROXY_URL: {
    unset: 'not set: deliveries connect directly',
    meaning:
      '`http://user:password@host:port` of a proxy that refuses addresses that are not public, see [operations](operations.md). `HTTP_PROXY` and the like are not read',
  },
  WEBHOOK_TIMEOUT_SECONDS: { meaning: 'deadline of one delivery, 0.05–600' },
  JOB_RETENTION_SECONDS: {
    meaning:
      'time from the publish until a job and everything that belongs to it are removed, if it has ended by then; also the idempotency window',
  },
  JOB_LIFETIME_SECONDS: { meaning: 'time from the first `scheduledFor` until a job that was not delivered dies' },
  RETENTION_SWEEP_SECONDS: { meaning: 'pause between sweeps of what is past retention' },
  MAX_CLOCK_JUMP_SECONDS: {
    meaning:
      "how far the database's clock can jump before removal and the end of lifetimes are suspended ([what to do](troubleshooting.md#what-to-do-when))",
  },
  PLANS: {
    meaning:
      'JSON merged over the plans `free` and `pro`, as in `{"free":{"monthlyAttempts":3}}`; a new plan needs every field that these have: `queues` and `monthlyAttempts` (null: no limit), `includedAttempts`, `maxAttempts`, `maxDefers`, `window` (seconds)',
  },
  TEMPLATES: { unset: '`anthropic`, `openai`', meaning: 'JSON that replaces the queue templates' },
  REPORT_URL: {
    unset: 'not set: deliveries have no report URL',
    meaning:
      'address of the API as receivers reach it, such as `https://jobs.example.com`. Each ack-mode delivery then has a header with a signed URL for its reports, so that the receiver needs no key ([ack mode](ack-mode.md#without-a-key)). The same in all processes',
  },
  SIGNATURE_HEADER: { meaning: "name of the signature's header" },
  MAX_BODY_BYTES: { meaning: 'largest request body, 1 KiB – 64 MiB' },
  REQUESTS_PER_SECOND_OF_KEY: {
    meaning:
      'requests per second of one API key to one process, REST and GraphQL together; beyond it 429 with `Retry-After`; 0: no limit',
  },
  REQUESTS_PER_SECOND_OF_ACCOUNT: { meaning: 'the same for all clients of an account, people included; 0: no limit' },
  WORKER_CAPACITY: {
    meaning:
      'deliveries in flight at once in one process; a single account gets at most 72 % of them, see [limits](limits.md)',
  },
  WORKER_LINK_PORT: {
    meaning:
      'port on which a worker takes jobs from API processes, on the address of `HOST`; 0 takes any free port; `off`: API processes hand over nothing, and workers take nothing ([operations](operations.md#scale))',
  },
  LOG_LEVEL: { meaning: '`trace`, `debug`, `info`, `warn`, `error`, `fatal`, `silent`' },
  ACCESS_LOG: { meaning: '`1`: a line for each request, see [operations](operations.md#logs)' },
  METRICS_PORT: {
    unset: 'not set: metrics are at `/metrics` of `PORT`',
    meaning: 'port of their own for the [metrics](metrics.md), not that of `PORT`; 0 takes any free port',
  },
  METRICS_TOKEN: {
    meaning:
      'bearer token that `/metrics` needs, 16–255 printable characters without spaces. Without it and without `METRICS_PORT`, metrics have no names of queues',
  },
  METRICS_MAX_QUEUES: { meaning: 'queues with series of their own, 0–1000; the others are counted together' },
  ALERT_INTERVAL_SECONDS: {
    meaning: 'pause between two evaluations of the [alert rules](alerts.md), 0.1–3600; 0: this process evaluates none',
  },
  SMTP_URL: {
    unset: 'not set: no alert rule can send mails',
    meaning:
      '`smtp://user:password@host:587` or `smtps://…:465` of the server that sends the mails of alert rules. With a user, `smtp://` needs STARTTLS, but on this machine. Set it and the next one in the processes that serve GraphQL, and in those that evaluate rules',
  },
  SMTP_FROM: {
    unset: 'not set',
    meaning: 'sender of these mails, such as `Jobferry <alerts@example.com>`; must be given with `SMTP_URL`',
  },
  PAGERDUTY_URL: {
    meaning:
      'where alert rules with a target of PagerDuty send their events; in the EU `https://events.eu.pagerduty.com/v2/enqueue`',
  },
  GRAPHIQL: {
    unset: 'on, unless `NODE_ENV=production`',
    meaning: '`0` or `1`: the explorer at `/graphql`, and introspection',
  },
  DASHBOARD: { meaning: '`0`: the process does not serve the dashboard' },
  PUBLIC_URL: {
    unset: 'not set: the address of the request',
    meaning:
      'address of the dashboard in browsers, such as `https://jobs.example.com` or `https://example.com/jobferry`. A proxy may remove the path or pass it on. Set it behind TLS, behind a proxy that changes the `Host`, and for OpenID Connect',
  },
  TRUSTED_PROXIES: {
    unset: 'none: `X-Forwarded-For` is not read',
    meaning:
      'addresses and CIDR blocks of your proxies (at most /8, of IPv6 /7), separated by commas, as `10.0.0.0/8,192.0.2.7`; `unix:` for the proxy at the unix socket in `HOST`. Failed sign-ins are then counted, and requests logged, by the client that they name: the last address of `X-Forwarded-For` that is not a trusted proxy',
  },
  CORS_ORIGINS: {
    unset: 'none',
    meaning:
      'origins of pages that may call the API with a key, separated by commas, such as `https://app.example.com`',
  },
  SESSION_MAX_SECONDS: { meaning: 'time from signing in to the dashboard until the session ends, 60 or more' },
  OIDC_ISSUER: {
    unset: 'not set: people sign in with API keys and links only',
    meaning:
      'address of an OpenID provider with which people sign in to the dashboard; needs the next two and `PUBLIC_URL`. See [the dashboard](dashboard.md#signing-in-with-an-openid-provider)',
  },
  OIDC_CLIENT_ID: { meaning: 'the client that the provider has for Jobferry' },
  OIDC_CLIENT_SECRET: { meaning: 'the secret of that client; a public client has none' },
  OIDC_ROLES: {
    meaning:
      'JSON: for each claim, the role of a person whose claim has a value, as in `{"groups":{"ops":"operator+payloads","support":"viewer"}}`. Roles are `viewer`, `operator` and `admin`; `+payloads` adds the right to see payloads, which an admin has anyway; the value `*` stands for any. People without a match are refused',
  },
  OIDC_SCOPES: { meaning: 'scopes, separated by spaces; some providers need `groups` as well' },
  OIDC_ONLY: { meaning: '`1`: no signing in with API keys or links. Programs still use API keys' },
  NODE_ENV: {
    meaning: '`production` changes the defaults of `WEBHOOK_ALLOW_CIDRS` and `GRAPHIQL`, and prints no sign-in link',
  },
};
