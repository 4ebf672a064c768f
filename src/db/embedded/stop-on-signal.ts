import { constants } from 'node:os';

const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

/**
 * Stops the server that a command has started, also one that is still starting, when a signal ends the command: it is a
 * process of its own and would go on. The command then ends by the signal. A second signal ends it at once, and its
 * server a little later.
 * @returns a function that leaves signals to Node again
 */
export function stopOnSignal(starting: Promise<{ stop(): Promise<void> }>): () => void {
  let isEnding = false;
  const leave = () => {
    for (const signal of SIGNALS) process.off(signal, end);
  };
  const end = (signal: NodeJS.Signals) => {
    if (isEnding) process.exit(128 + constants.signals[signal]);
    isEnding = true;
    void starting
      .then((server) => server.stop())
      .catch(() => undefined)
      .then(() => {
        leave();
        process.kill(process.pid, signal);
      });
  };
  for (const signal of SIGNALS) process.on(signal, end);
  return leave;
}
