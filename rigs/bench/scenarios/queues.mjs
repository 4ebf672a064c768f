import { variantScenario } from './variants.mjs';

const MANY = 200;
/** The sum over an account is at most 1000. */
const CONCURRENCY = 5;

/** The usual load over many queues, used in turn: each of them is hot all the time. */
export const queues = variantScenario({
  about: `${MANY} queues, used in turn, beside one queue`,
  title: `One queue and ${MANY} queues`,
  variants: [
    { name: 'one-queue', label: 'one queue, concurrency 100', start: { queues: 1 } },
    {
      name: 'many-queues',
      label: `${MANY} queues, concurrency ${CONCURRENCY} each`,
      start: { queues: MANY, concurrency: CONCURRENCY },
    },
  ],
  notes: () => ['The aim: 200 queues cost at most 1.2 times the CPU per job of one.'],
});
