import type { Logger } from '../../telemetry/log.ts';

/** A signal during the start waits this long for the start to finish, so that no embedded database is left running. */
const START_GRACE_MS = 10_000;

/**
 * Stops what is starting, or has started, when the process gets a signal to end, and then ends the process.
 * @returns a function that does the same
 */
export function stopOnSignal(starting: Promise<{ stop(): Promise<void> }>, log: Logger): (reason: string) => void {
  let stopping = false;
  const stop = (reason: string) => {
    if (stopping) return;
    stopping = true;
    log.info({ reason }, 'stopping: waiting for running requests and deliveries');
    let started = false;
    setTimeout(() => {
      if (started) return;
      log.warn('the start did not finish in time after a signal: exiting');
      process.exit(1);
    }, START_GRACE_MS).unref();
    starting
      .then((service) => {
        started = true;
        return service.stop();
      })
      .then(
        () => process.exit(0),
        (error: unknown) => {
          log.error({ err: error }, 'stopping failed');
          process.exit(1);
        },
      );
  };
  // A terminal that is closed sends SIGHUP.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, stop);
  if (process.env.npm_lifecycle_event === 'start') stopWithParent(stop);
  return stop;
}

/** npm sends SIGTERM to the shell that it started, which ends without passing it on to this process. */
function stopWithParent(stop: (reason: string) => void): void {
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent) stop('npm has ended');
  }, 250).unref();
}
