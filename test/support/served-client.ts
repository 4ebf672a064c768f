import { createClient, type JobferryClient, unwrap } from '../../packages/client/src/index.ts';
import { startService } from './service.ts';
import { waitFor } from './wait-for.ts';

export const apiKey = 'key-of-these-tests';

export interface ServedClient {
  client: JobferryClient;
  baseUrl: string;
}

/** A service of its own, and the client of it that is tested. */
export async function startServedClient(env: Record<string, string> = {}): Promise<ServedClient> {
  const { jobferry } = await startService({ BOOTSTRAP_API_KEY: apiKey, ...env });
  return { client: createClient({ baseUrl: jobferry.baseUrl, apiKey }), baseUrl: jobferry.baseUrl };
}

type Job = Awaited<ReturnType<typeof getJob>>;

function getJob(client: JobferryClient, id: string) {
  return unwrap(client.jobs.get({ params: { id } }));
}

export function waitForJob(client: JobferryClient, id: string, condition: (job: Job) => boolean): Promise<Job> {
  const check = async () => {
    const job = await getJob(client, id);
    return condition(job) ? job : null;
  };
  return waitFor(check, { message: `job ${id}: ${condition}` });
}
