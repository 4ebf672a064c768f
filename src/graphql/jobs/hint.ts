import type { JobFilter } from '../../domain/job-filter.ts';
import { LIMITS } from '../../domain/queue.ts';
import { asReceiver, otherPorts } from '../../domain/receiver-host.ts';
import { meantBy } from '../../domain/spelling.ts';
import type { GraphQLContext } from '../context.ts';

/** The members of a filter that may match nothing for a reason that is known; tags are as they were given. */
type HintFilter = Pick<JobFilter, 'queueNames' | 'queueIds' | 'receivers' | 'payload'> & {
  queueTags?: readonly string[] | null | undefined;
};

/**
 * Returns why a filter may match nothing: a queue, a tag or a receiver that there is not, or its payload condition.
 * Null for no such reason.
 */
export async function hintOf(
  { services, account }: Pick<GraphQLContext, 'services' | 'account'>,
  { queueNames = [], queueTags, receivers = [], ...filter }: HintFilter,
): Promise<string | null> {
  if (queueNames.length > 0) {
    const names = (await services.queues.list(account)).map(({ name }) => name);
    const unknown = queueNames.find((name) => !names.includes(name));
    if (unknown !== undefined)
      return `there is no queue ${unknown.slice(0, LIMITS.queueNameLength)}${meant(unknown, names)}`;
  }
  if (queueTags != null) {
    const tags = [...new Set([...(await services.queues.tags(account)).values()].flat())];
    const unknown = queueTags.find((tag) => !tags.includes(tag));
    if (unknown !== undefined) return `no queue has the tag ${unknown}${meant(unknown, tags)}`;
  }
  if (receivers.length > 0) {
    const hosts = (await services.receivers.list(account)).map(({ host }) => host);
    const unknown = receivers.find((host) => !hosts.includes(asReceiver(host)));
    if (unknown !== undefined) {
      const [other] = otherPorts(
        hosts.map((host) => `https://${host}/`),
        unknown,
      );
      return `no queue delivers to ${unknown.slice(0, 300)}${meant(unknown, hosts, other)}`;
    }
  }
  return services.jobs.payloadHint(account, filter);
}

function meant(unknown: string, known: readonly string[], other?: string): string {
  const name = meantBy(unknown, known) ?? other;
  return name === undefined ? '' : `: did you mean ${name}?`;
}
