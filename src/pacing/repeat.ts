interface WarningLog {
  warn(fields: object, message: string): void;
}

/**
 * Does work at once and then repeatedly, one round at a time, until the returned function is called. That function
 * resolves when the running round, if any, has ended.
 * @param everyMs from the end of a round to the start of the next; a function is called after each round
 */
export function repeat(
  everyMs: number | (() => number),
  log: WarningLog,
  what: string,
  work: () => Promise<void>,
): () => Promise<void> {
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  const round = async () => {
    try {
      await work();
    } catch (error) {
      log.warn({ err: error }, `${what} failed and will be retried`);
    }
    const waitMs = typeof everyMs === 'number' ? everyMs : everyMs();
    if (!stopped) timer = setTimeout(begin, waitMs);
  };
  let lastRound = Promise.resolve();
  const begin = () => {
    lastRound = round();
  };
  begin();
  return () => {
    stopped = true;
    clearTimeout(timer);
    return lastRound;
  };
}
