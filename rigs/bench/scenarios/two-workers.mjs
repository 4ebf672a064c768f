import { spread } from '../measure/statistics.mjs';
import { verdict } from '../report/variants.mjs';
import { mostOpenOf, variantScenario } from './variants.mjs';

const CONCURRENCY = 100;
/** Answers take a moment, so that a cap that is overstepped is seen. */
const receiver = { delayMs: 20 };

export const twoWorkers = variantScenario({
  about: 'one hot queue and two worker processes, beside one: nothing lost, no cap broken, and the rate',
  title: `One hot queue, concurrency ${CONCURRENCY}, answers after ${receiver.delayMs} ms`,
  variants: [
    { name: 'one-worker', label: 'one worker', start: { workers: 1, concurrency: CONCURRENCY }, receiver },
    { name: 'two-workers', label: 'two workers', start: { workers: 2, concurrency: CONCURRENCY }, receiver },
  ],
  columns: [
    { head: 'most open at once', cell: (own) => String(mostOpenOf(own)) },
    {
      head: 'worker CPU µs per job',
      cell: (own) => String(Math.round(spread(own.map(({ cpuPerJob }) => cpuPerJob.worker)).median)),
    },
  ],
  notes: (turns) => [
    `Aim: no more than ${CONCURRENCY} deliveries open at once: ${verdict(mostOpenOf(turns) <= CONCURRENCY)}. ` +
      'There is no aim for the rate of two workers; on a machine with few cores they share what one has.',
  ],
  faults: (turns) =>
    mostOpenOf(turns) <= CONCURRENCY
      ? []
      : [`${mostOpenOf(turns)} deliveries of a queue with a concurrency of ${CONCURRENCY}`],
});
