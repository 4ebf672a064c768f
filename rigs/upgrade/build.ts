import { type Api, createApi } from '../../test/support/api.ts';
import { createGraphQLClient, type GraphQL } from '../../test/support/graphql.ts';
import { type Jobferry, type JobferryOptions, startJobferry } from '../../test/support/process.ts';

/** API key of the bootstrap account. */
export const KEY = 'key-of-the-bootstrap-account';

/** A running process and its clients. */
export interface Build {
  jobferry: Jobferry;
  api: Api;
  graphql: GraphQL;
}

export async function startBuild(options: JobferryOptions): Promise<Build> {
  const jobferry = await startJobferry({ ...options, readyWithinMs: 60_000 });
  const { baseUrl } = jobferry;
  return { jobferry, api: createApi(baseUrl, KEY), graphql: createGraphQLClient(baseUrl, KEY) };
}

export function workerIdOf({ jobferry }: Build): number {
  return jobferry.logs.find((line) => line.msg === 'worker started')?.workerId as number;
}
