import { type Bound, bind, createAccessLog, type TrustedProxies } from '../../http/index.ts';
import type { Logger } from '../../telemetry/log.ts';
import type { Config } from '../config.ts';
import type { StartedParts } from './foundations.ts';

/** How long idle connections are served after the delay of a shutdown, at most. */
const LINGER_MS = 2000;

/** The addresses on which a process listens. */
export interface Fronts {
  front: Bound;
  closeFront: () => Promise<unknown>;
  /** Null if metrics have no port of their own. */
  metricsFront: Bound | null;
}

export async function bindFronts(
  { host, port, listenWhen, accessLog, shutdownDelayMs, metrics }: Config,
  log: Logger,
  { started, trustedProxies, prefix }: { started: StartedParts; trustedProxies: TrustedProxies; prefix: string },
): Promise<Fronts> {
  const watch = createAccessLog({ log, level: accessLog ? 'info' : 'debug', trustedProxies });
  const front = await bind({ host, port, prefix, watch, isOpenedLater: listenWhen === 'ready' });
  const closeFront = started.add(() => front.close(shutdownDelayMs > 0 ? LINGER_MS : 0));
  if (metrics.port === null) return { front, closeFront, metricsFront: null };
  const metricsFront = await bind({ host: metrics.host, port: metrics.port, variable: 'METRICS_PORT', prefix, watch });
  // Open until the process has stopped everything else.
  started.add(() => metricsFront.close());
  return { front, closeFront, metricsFront };
}
