interface WarningLog {
  warn(fields: object, message: string): void;
}

export interface Repeated {
  /** Runs the next round at once, or directly after the running one. */
  runSoon(): void;
  /** Resolves when the running round, if any, has ended. */
  stop(): Promise<void>;
}

/**
 * Does work at once and then repeatedly, one round at a time, until it is stopped.
 * @param everyMs from the end of a round to the start of the next; a function is called after each round
 */
export function repeat(
  everyMs: number | (() => number),
  log: WarningLog,
  what: string,
  work: () => Promise<void>,
): Repeated {
  let stopped = false;
  let isWanted = false;
  /** The timer of the next round; null while a round is running. */
  let timer: NodeJS.Timeout | null = null;
  const round = async () => {
    try {
      await work();
    } catch (error) {
      log.warn({ err: error }, `${what} failed and will be retried`);
    }
    if (stopped) return;
    if (isWanted) begin();
    else timer = setTimeout(begin, typeof everyMs === 'number' ? everyMs : everyMs());
  };
  let lastRound = Promise.resolve();
  const begin = () => {
    isWanted = false;
    timer = null;
    lastRound = round();
  };
  begin();
  return {
    runSoon: () => {
      if (stopped) return;
      if (timer === null) {
        isWanted = true;
        return;
      }
      clearTimeout(timer);
      begin();
    },
    stop: () => {
      stopped = true;
      if (timer !== null) clearTimeout(timer);
      return lastRound;
    },
  };
}
