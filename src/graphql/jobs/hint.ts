import type { JobFilter } from '../../domain/job-filter.ts';
import { LIMITS } from '../../domain/queue.ts';
import { asReceiver } from '../../domain/receiver-host.ts';
import { meantBy } from '../../domain/spelling.ts';
import type { GraphQLContext } from '../context.ts';

/**
 * Returns why a filter of jobs may match nothing: a queue or a receiver that there is not, or its payload condition. Null for no
 * such reason.
 */
export async function hintOf(
  { services, account }: Pick<GraphQLContext, 'services' | 'account'>,
  filter: JobFilter,
): Promise<string | null> {
  const { queueNames = [], receivers = [] } = filter;
  if (queueNames.length > 0) {
    const names = (await services.queues.list(account)).map(({ name }) => name);
    const unknown = queueNames.find((name) => !names.includes(name));
    if (unknown !== undefined) {
      const meant = meantBy(unknown, names);
      const text = unknown.slice(0, LIMITS.queueNameLength);
      return `there is no queue ${text}${meant === null ? '' : `: did you mean ${meant}?`}`;
    }
  }
  if (receivers.length > 0) {
    const hosts = (await services.receivers.list(account)).map(({ host }) => host);
    const unknown = receivers.find((host) => !hosts.includes(asReceiver(host)));
    if (unknown !== undefined) {
      const meant = meantBy(unknown, hosts);
      return `no queue delivers to ${unknown.slice(0, 300)}${meant === null ? '' : `: did you mean ${meant}?`}`;
    }
  }
  return services.jobs.payloadHint(account, filter);
}
