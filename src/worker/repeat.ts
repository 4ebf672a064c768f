import type { Logger } from '../log.ts';

/**
 * Does something at once and then again and again, never twice at a time, until the answer is called.
 * @param everyMs between two rounds; asked after each round when it is a function
 */
export function repeat(
  everyMs: number | (() => number),
  log: Logger,
  what: string,
  work: () => Promise<void>,
): () => void {
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  const round = async () => {
    try {
      await work();
    } catch (error) {
      log.warn({ err: error }, `${what} failed, and is tried again`);
    }
    const waitMs = typeof everyMs === 'number' ? everyMs : everyMs();
    if (!stopped) timer = setTimeout(() => void round(), waitMs);
  };
  void round();
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}
