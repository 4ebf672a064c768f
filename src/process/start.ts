import { setTimeout as sleep } from 'node:timers/promises';
import { checkClock } from '../db/connection/clock-watch.ts';
import type { Database } from '../db/connection/database.ts';
import { Listener } from '../db/connection/notifications.ts';
import type { Sender } from '../delivery/send.ts';
import type { Tunnels } from '../delivery/tunnel/tunnels.ts';
import type { Account } from '../domain/account.ts';
import { isSocketPath, localUrl } from '../domain/listening-address.ts';
import type { ReplicaReads } from '../graphql/replica.ts';
import { createApp, findGuide, Load, type Places, placesOf, type SignIn, TrustedProxies } from '../http/index.ts';
import { createLive } from '../live/hub.ts';
import type { Live } from '../live/live.ts';
import { CredentialWatch } from '../services/accounts/credential-watch.ts';
import type { Context } from '../services/context.ts';
import { createStoredText } from '../services/jobs/stored-text.ts';
import { OidcProvider } from '../services/oidc/provider.ts';
import { createClockTravel } from '../services/server/clock-travel.ts';
import { startHeartbeat } from '../services/server/heartbeat.ts';
import { createReadiness } from '../services/server/readiness.ts';
import { createServices, type Services } from '../services/services.ts';
import { createOidcSignIn } from '../services/sign-in/oidc.ts';
import { createLink } from '../services/sign-in/sessions.ts';
import { counts } from '../telemetry/counts/counts.ts';
import type { Logger } from '../telemetry/log.ts';
import { openTracing } from '../telemetry/tracing/open-tracing.ts';
import type { Tracing } from '../telemetry/tracing/tracing.ts';
import { startWorker, type Worker, type WorkerOptions } from '../worker/index.ts';
import type { Config } from './config.ts';
import { openDatabase } from './open-database.ts';
import { startAlertsOf } from './start/alerts.ts';
import { createContext } from './start/context.ts';
import { type Foundations, StartedParts } from './start/foundations.ts';
import { bindFronts, type Fronts } from './start/fronts.ts';
import { startMetrics } from './start/metrics.ts';
import { openOwnSender } from './start/open-sender.ts';
import { openDashboard } from './start/pages.ts';
import { applyDeclaredQueues, readDeclaredQueues } from './start/queues-file.ts';
import { startReplica } from './start/replica.ts';
import { settingsOf } from './start/settings.ts';
import { createTunnels } from './start/tunnels.ts';
import {
  warnOfAllowedAddresses,
  warnOfConnections,
  warnOfHiddenSessions,
  warnOfPlans,
  warnOfShortRetention,
  warnOfUntrustedProxy,
} from './start/warnings.ts';
import { watchClock, watchKeys, watchRelease } from './start/watches.ts';
import { PREFIX } from './variables.ts';
import { VERSION } from './version.ts';

export interface Service {
  /** Address on which the process listens. */
  url: string;
  /** Address for people on this machine, or PUBLIC_URL; null for a unix socket without PUBLIC_URL. */
  address: URL | null;
  /** The pages that the process serves, as paths below the address. */
  places: Places;
  /**
   * Creates a link that signs in to the dashboard once; null if there is no address, or no dashboard in this process.
   */
  signInLink(): Promise<string | null>;
  /** Accepts no more work, waits for running deliveries and requests, and closes everything. */
  stop(): Promise<void>;
}

export interface StartOptions {
  /** Called with the first account's key as soon as it exists: it is shown once, and the rest of the start may fail. */
  onNewApiKey?: (key: string, url: string) => void;
  /** For `dev`. */
  development?: Development | undefined;
}

/** Parts that only a server for development has. Its clock can be moved. */
interface Development {
  /** Wraps the sender of the worker. */
  wrapSender: WrapSender;
}

type WrapSender = (sender: Sender, db: Database) => Sender;

/**
 * The composition root: it makes every part and passes it to the parts that need it. The address is bound first,
 * because another process may have it. If a part cannot be started, all parts that were started before are stopped
 * again.
 */
export async function startService(given: Config, log: Logger, options: StartOptions = {}): Promise<Service> {
  const started = new StartedParts();
  try {
    const trustedProxies = new TrustedProxies(given.trustedProxies);
    const declared = await readDeclaredQueues(given.queuesFile);
    const prefix = options.development === undefined ? '' : PREFIX;
    const fronts = await bindFronts(given, log, { started, trustedProxies, prefix });
    // Receivers of a developer run on the same machine, so they can report there.
    const ownUrl = options.development === undefined ? null : localUrl(fronts.front.url);
    const config = { ...given, reportUrl: given.reportUrl ?? ownUrl?.replace(/\/$/, '') ?? null };
    const onNewApiKey = (key: string) => options.onNewApiKey?.(key, fronts.front.url);
    const migrates = config.autoMigrate ? 'always' : 'never';
    const database = await openDatabase(config, log, { guest: false, migrates, onNewApiKey });
    started.add(() => database.close());
    const foundations = { config, log, database, started, trustedProxies, declared };
    const service = await startParts(foundations, fronts, options.development ?? null);
    log.info({ url: service.url, role: config.role, metricsUrl: fronts.metricsFront?.url }, 'listening');
    return service;
  } catch (error) {
    await started
      .stop()
      .catch((err: unknown) => log.debug({ err }, 'a part that was already started could not be stopped'));
    throw error;
  }
}

async function startParts(
  foundations: Foundations,
  { front, closeFront, metricsFront }: Fronts,
  development: Development | null,
): Promise<Service> {
  const { config, log, database, started } = foundations;
  const { db } = database;
  const periods = { retentionMs: config.jobRetentionMs, lifetimeMs: config.jobLifetimeMs };
  warnOfShortRetention(periods, log);
  const tracing = startTracing(foundations);
  const listener = new Listener({ url: database.url, log, origin: db.origin });
  started.add(() => listener.stop());
  const liveUpdates = createLive({ db, listener, log });
  const { changes } = liveUpdates;
  const clock = watchClock(foundations);
  const release = watchRelease(foundations);
  watchKeys(foundations);
  const tunnels = createTunnels(foundations, { listener, changes, tracing }, () =>
    openOwnSender(foundations, 0, { log }),
  );
  await tunnels.read();
  const shared = { listener, periods, changes, tracing, tunnels };
  const worker =
    config.role === 'api' ? null : await startDelivering(foundations, { ...shared, clock, release }, development);
  const stopWorker = worker === null ? null : started.add(worker.stop);
  release.onRefused(() => void tunnels.stop(stopWorker?.()));
  await listener.start();
  tunnels.start((queueId) => worker?.wake(queueId, 'change'));
  started.add(() => liveUpdates.stop());
  const clockTravel =
    development === null || worker === null
      ? null
      : createClockTravel({ db, lookAgain: worker.lookAgain, clockMoved: () => checkClock(db, clock) });
  const context = createContext(foundations, { periods, changes, tracing, worker, clockTravel, tunnels });
  await warnOfPlans(foundations);
  await warnOfConnections(foundations);
  await warnOfHiddenSessions(foundations);
  warnOfUntrustedProxy(config, log);
  const services = config.role === 'worker' ? null : createServices(context);
  if (services !== null) await applyDeclaredQueues(foundations, services);
  const replica = services === null ? null : startReplica(foundations, context);
  const graphql =
    services === null ? null : await loadGraphQL(foundations, services, context, liveUpdates.live, replica);
  const workerProblem = () => (worker !== null && release.refusal !== null ? 'stopped' : worker?.problem());
  const keyProblem = () => worker?.keyProblem() ?? null;
  const egressProblem = () => worker?.egressProblem();
  const load = services === null ? null : new Load();
  const publishProblem = () => load?.admission.problem();
  const ownReadiness = createReadiness({ db, log, release, workerProblem, keyProblem, egressProblem, publishProblem });
  let isStopping = false;
  const readiness = async () => (isStopping ? { ready: false, checks: { stop: 'under way' } } : ownReadiness());
  const dashboard = services === null ? null : openDashboard(config, log);
  const signIn = services === null ? null : signInOf(foundations, context, services);
  const metrics = startMetrics(foundations, {
    listener,
    worker,
    clock,
    load,
    retentionMs: periods.retentionMs,
    replica: replica?.replica ?? null,
  });
  const onChange = replica === null ? undefined : (account: Account) => replica.changes.note(account);
  const onFront = metricsFront === null ? metrics : null;
  const parts = { services, graphql, dashboard, guide: development && findGuide(), metrics: onFront };
  const app = createApp({ ...parts, config, log, readiness, signIn, onChange, ...(load && { load }) });
  const settings = settingsOf(config, db);
  const addressNow = () => addressOf(config, front.url);
  const facts = () => ({
    role: config.role,
    version: VERSION,
    inFlight: worker?.inFlight() ?? 0,
    capacity: worker === null || release.refusal !== null ? 0 : config.workerCapacity,
    clockOffsetSeconds: clock.offsetSeconds(),
    address: dashboard === null ? null : (addressNow()?.href ?? null),
    ignored: counts.ignored.recent(),
    settings,
    link: worker?.link ?? null,
  });
  started.add(startHeartbeat(db, log, facts));
  release.onRefused(startAlertsOf(foundations, (timeoutMs) => openOwnSender(foundations, 0, { timeoutMs })));
  front.serve(app);
  metricsFront?.serve(createApp({ services: null, config, log, readiness, metrics }));
  await front.open();

  const address = addressNow();
  return {
    url: front.url,
    address,
    places: placesOf(parts),
    signInLink: async () => (dashboard === null || address === null ? null : createLink(db, null, address)),
    stop: async () => {
      isStopping = true;
      // No new work from now on, but requests are served until the load balancers have noticed.
      const workerStopped = stopWorker?.();
      const tunnelsStopped = tunnels.stop(workerStopped);
      await sleep(config.shutdownDelayMs);
      // Otherwise subscribers would keep their requests open.
      liveUpdates.endSubscriptions();
      graphql?.stop();
      await Promise.all([closeFront(), workerStopped, tunnelsStopped]);
      await started.stop();
    },
  };
}

/** Where people reach the process; null for a unix socket. */
function addressOf({ publicUrl }: Config, bound: string): URL | null {
  const local = localUrl(bound);
  return publicUrl ?? (local === null ? null : new URL(local));
}

/** Where the worker takes jobs from API processes: beside the API's own address, or on this machine. */
function linkOf({ host, workerLinkPort: port }: Config) {
  return port === null ? null : { host: isSocketPath(host) ? '127.0.0.1' : host, port };
}

/** Starts what a process that delivers has: the sender and the worker. */
async function startDelivering(
  { config, log, database, started }: Foundations,
  shared: Pick<WorkerOptions, 'listener' | 'periods' | 'changes' | 'tracing' | 'clock' | 'release'> & {
    tunnels: Tunnels;
  },
  development: Development | null,
): Promise<Worker> {
  const { tunnels } = shared;
  const own = openOwnSender({ config, started }, 2 * config.workerCapacity, { log });
  const sender = tunnels.wrap(development?.wrapSender(own, database.db) ?? own);
  warnOfAllowedAddresses(config, log);
  return startWorker(database.db, sender, log, {
    ...shared,
    mayDeliver: (queueId) => tunnels.mayDeliver(queueId),
    isTunnelled: (queueId) => tunnels.takes(queueId),
    databaseUrl: database.url,
    capacity: config.workerCapacity,
    link: linkOf(config),
    webhookTimeoutMs: config.webhookTimeoutMs,
    retentionSweepMs: config.retentionSweepMs,
    plans: config.plans,
  });
}

/** @returns null if no OpenTelemetry SDK is loaded */
function startTracing({ log, started }: Foundations): Tracing | null {
  const tracing = openTracing(VERSION);
  if (tracing === null) return null;
  log.info('an OpenTelemetry SDK is loaded: this process makes spans');
  // Stopped after everything that makes spans.
  started.add(() => tracing.flush());
  return tracing;
}

/** Loads GraphQL only in processes with the API: it would be half of a worker's memory, and most of its start time. */
async function loadGraphQL(
  { config, log }: Foundations,
  services: Services,
  context: Context,
  live: Live,
  replica: ReplicaReads | null,
) {
  const { createGraphQL } = await import('../graphql/index.ts');
  const { db, readingPrisma, plans } = context;
  const parts = {
    services,
    readingPrisma,
    stored: createStoredText(db),
    plans,
    live,
    credentials: new CredentialWatch(db),
  };
  return createGraphQL(parts, { graphiql: config.graphiql, log, replica });
}

function signInOf(
  { config, log, trustedProxies }: Foundations,
  context: Context,
  { sessions, accounts }: Services,
): SignIn {
  const { publicUrl: url, oidc } = config;
  const signIn = { sessions, accounts, address: { url }, trustedProxies, takesKeys: oidc?.only !== true };
  if (oidc === null || url === null) return { ...signIn, oidc: null };
  const provider = new OidcProvider({ ...oidc, redirectUri: new URL('session/oidc/callback', url) });
  const people = createOidcSignIn(context, provider, oidc.roles);
  return { ...signIn, oidc: { name: oidc.issuer.hostname, people, log } };
}
