import { createClient, type JobferryClient } from '@jobferry/client';

/** Creates a client when it is needed, because a build has no API key. */
export function jobferry(): JobferryClient {
  const { JOBFERRY_URL = '', JOBFERRY_API_KEY = '' } = process.env;
  return createClient({ baseUrl: JOBFERRY_URL, apiKey: JOBFERRY_API_KEY });
}
