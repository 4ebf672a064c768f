import type { JobferryClient } from '../../packages/client/src/index.ts';
import { type Operation, textOf } from '../../packages/query/schema/graphql.ts';

type Send = JobferryClient['graphql'];

/** Sends an operation whose variables and result are typed by schema.graphql. @throws as the client does */
export function ask<Result, Variables extends object>(
  client: { graphql: Send },
  operation: Operation<Result, Variables>,
  variables: Variables,
  options?: Parameters<Send>[2],
): Promise<Result> {
  return client.graphql<Result>(textOf(operation), variables, options);
}
