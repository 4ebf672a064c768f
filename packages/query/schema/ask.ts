import { type Operation, textOf } from './graphql.ts';

/** The part of the client (packages/client) that sends any operation. */
interface Sender {
  graphql<Data>(query: string, variables?: object, options?: SendOptions): Promise<Data>;
}

interface SendOptions {
  signal?: AbortSignal | undefined;
  timeoutMs?: number | undefined;
}

/** Sends an operation whose variables and result are typed by schema.graphql. @throws as the client does */
export function ask<Result, Variables>(
  client: Sender,
  operation: Operation<Result, Variables>,
  variables: Variables,
  options?: SendOptions,
): Promise<Result> {
  return client.graphql<Result>(textOf(operation), variables as object, options);
}
