interface WarningLog {
  warn(fields: object, message: string): void;
}

/**
 * Does something at once and then again and again, never twice at a time, until the function that it returns is called.
 * That one resolves when the round that is under way, if any, has ended.
 * @param everyMs between two rounds; asked after each round when it is a function
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
      log.warn({ err: error }, `${what} failed, and is tried again`);
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
