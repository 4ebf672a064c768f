import { queryClient } from './query.ts';

/** Reads that follow each other begin within this time. */
const PAUSE_MS = 50;

let resolve: () => void = () => undefined;
const firstRead = new Promise<void>((done) => {
  resolve = done;
});
let isBegun = false;

/**
 * The first screen is there, and has begun to read what it shows. Its rows come before everything else that the page
 * needs from the server: what uses `afterFirstRead` waits until nothing is read any more.
 */
export function firstScreenIsThere(): void {
  if (isBegun) return;
  isBegun = true;
  let timer: ReturnType<typeof setTimeout>;
  const check = () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      // A failed read is repeated later, and nothing else waits for it.
      const isReading = queryClient.isFetching({ predicate: ({ state }) => state.fetchFailureCount === 0 }) > 0;
      if (isReading) return;
      stop();
      resolve();
    }, PAUSE_MS);
  };
  const stop = queryClient.getQueryCache().subscribe(check);
  check();
}

/** The first screen has shown what it is about. */
export function firstScreenIsRead(): void {
  resolve();
}

export function afterFirstRead<Result>(run: () => Result | Promise<Result>): Promise<Result> {
  return firstRead.then(run);
}
