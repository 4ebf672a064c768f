import type { QueueLimits } from '../../../packages/client/src/index.ts';
import { withApi } from './api.ts';
import { command, UsageError } from './command.ts';
import { QUEUES_ARGUMENT, RECEIVER_OPTION, resultOf } from './many-queues.ts';
import { choiceOf, doneWith } from './queue-api.ts';
import { secondsOf, wholeFromOne } from './values.ts';

export const LIMIT = command({
  name: 'queue limit',
  summary: 'Set limits of a queue, of several, or of all queues of a receiver, in one step.',
  reach: 'api',
  options: {
    receiver: RECEIVER_OPTION,
    concurrency: { value: 'N', help: 'maximum number of jobs in flight' },
    'rate-limit-max': { value: 'N', help: 'maximum number of deliveries per rate window; none for no limit' },
    'rate-limit-window': { value: 'TIME', help: 'length of the rate window' },
    'dry-run': { help: 'change nothing: show what would be changed' },
  },
  argument: QUEUES_ARGUMENT,
  run: ({ argument, options }, environment) => {
    const { receiver, concurrency, 'rate-limit-max': max, 'rate-limit-window': window, 'dry-run': dryRun } = options;
    const limits: QueueLimits = {
      ...(concurrency === undefined ? {} : { concurrency: wholeFromOne(concurrency, '--concurrency') }),
      ...(max === undefined ? {} : { rateLimitMax: max === 'none' ? null : wholeFromOne(max, '--rate-limit-max') }),
      ...(window === undefined ? {} : { rateLimitWindow: secondsOf(window, '--rate-limit-window') }),
    };
    if (Object.keys(limits).length === 0) throw new UsageError('give at least one limit, such as --concurrency 5');
    return withApi(environment, async (client) => {
      const { choice, isOne } = await choiceOf(client, argument, receiver);
      const { queues } = await client.queues.limitMany(choice, limits, { dryRun });
      const changed = dryRun ? 'would be limited.' : 'is limited.';
      return resultOf(
        doneWith(queues, (name, isChanged) => `Queue ${name} ${isChanged ? changed : 'already has these limits.'}`),
        isOne,
      );
    });
  },
});
