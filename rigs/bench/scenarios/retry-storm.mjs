import { round, spread } from '../measure/statistics.mjs';
import { rate } from '../report/format.mjs';
import { variantScenario } from './variants.mjs';

const FAILED_SHARE = 0.5;
/** The most that can be: at one half, one job in 33 million fails so often. */
const settings = { maxAttempts: 25, backoffType: 'fixed', backoffDelay: 1 };

/** The cost of a job grows with its deliveries, and its last retries are waited for; so the deliveries are counted. */
export const retryStorm = variantScenario({
  about: 'half of the answers are 500, beside none: deliveries per second, and what one costs',
  title: 'Half of the answers 500, retried after 1 s, up to 25 attempts',
  variants: [
    { name: 'no-failures', label: 'all answers 200', start: { settings } },
    { name: 'storm', label: 'half of the answers 500', start: { settings }, receiver: { failedShare: FAILED_SHARE } },
  ],
  columns: [
    { head: 'deliveries', cell: (own) => String(own.reduce((sum, { deliveries }) => sum + deliveries, 0)) },
    {
      head: 'deliveries/s while publishing',
      cell: (own) => rate(spread(own.map(({ deliveriesPerSecond }) => deliveriesPerSecond))),
    },
    {
      head: 'CPU µs per delivery',
      cell: (own) =>
        rate(spread(own.map(({ cpuPerJob, jobs, deliveries }) => round((cpuPerJob.system * jobs) / deliveries, 1)))),
    },
  ],
  notes: () => [
    'There is no aim for the rates of this scenario. jobs/s and arrivals of the storm include the waits before retries: ' +
      'compare the deliveries.',
  ],
});
