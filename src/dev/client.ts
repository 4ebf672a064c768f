/** The parts of the API that `dev` uses: it is a normal client with the first account's key. */
export interface DevClient {
  /** Creates the queue, or lets the present one deliver to the URL. */
  ensureQueue(name: string, webhookUrl: string): Promise<{ id: string }>;
  /** Delivers a job now that has failed: a dead one as a replay. @returns a sentence */
  retry(jobId: string): Promise<string>;
  /** Makes the job due that is due next. @returns a sentence */
  runNext(): Promise<string>;
  /** Pauses the queues, or resumes them if all are paused. @returns a sentence */
  togglePause(queueIds: readonly string[]): Promise<string>;
}

interface Queue {
  id: string;
  name: string;
  webhookUrl: string;
}

/** For a developer, who waits: the defaults are for receivers that are down for longer. */
const DEV_SETTINGS = { backoffType: 'exponential', backoffDelay: 1 };

export function createDevClient(url: string, apiKey: string): DevClient {
  const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
  const call = async <T>(method: string, path: string, body?: object): Promise<T> => {
    const response = await fetch(`${url}${path}`, { method, headers, body: body ? JSON.stringify(body) : null });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text.slice(0, 500)}`);
    return JSON.parse(text) as T;
  };
  const ask = async <T>(query: string, variables: object = {}): Promise<T> => {
    const { data, errors } = await call<{ data?: T; errors?: { message: string }[] }>('POST', '/graphql', {
      ...{ query, variables },
    });
    if (data == null) throw new Error(errors?.map(({ message }) => message).join('; ') ?? 'no answer');
    return data;
  };

  const runNow = async (id: string): Promise<string> => {
    const query = 'mutation ($id: ID!) { runNow(id: $id) { __typename ... on Error { message } } }';
    const { runNow: result } = await ask<{ runNow: { message?: string } }>(query, { id });
    return result.message ?? `job ${id} is due now`;
  };

  return {
    async ensureQueue(name, webhookUrl) {
      const present = (await call<Queue[]>('GET', '/v1/queues')).find((queue) => queue.name === name);
      if (present === undefined) return call<Queue>('POST', '/v1/queues', { name, webhookUrl, ...DEV_SETTINGS });
      if (present.webhookUrl !== webhookUrl) await call('PUT', `/v1/queues/${present.id}`, { webhookUrl });
      return present;
    },

    async retry(id) {
      const { job } = await ask<{ job: { state: string; deadLetter: { id: string } | null } | null }>(
        'query ($id: ID!) { job(id: $id) { state deadLetter { id } } }',
        { id },
      );
      if (job === null) return `job ${id} is gone`;
      if (job.deadLetter === null) return runNow(id);
      const query = `mutation ($id: ID!) {
        replayDeadLetter(id: $id) { ... on JobPayload { job { id } } ... on Error { message } } }`;
      const { replayDeadLetter: result } = await ask<{ replayDeadLetter: { job?: { id: string }; message?: string } }>(
        query,
        { id: job.deadLetter.id },
      );
      return result.message ?? `job ${id} was dead and is replayed as ${result.job?.id}`;
    },

    async runNext() {
      const { jobs } = await ask<{ jobs: { nodes: { id: string; scheduledFor: string }[] } }>(
        `{ jobs(first: 1, filter: { states: [SCHEDULED, RETRYING, HELD] }, orderBy: { field: SCHEDULED_FOR, direction: ASC }) {
          nodes { id scheduledFor } } }`,
      );
      const [next] = jobs.nodes;
      return next === undefined
        ? 'no job waits for a time'
        : `${await runNow(next.id)}, in place of ${next.scheduledFor}`;
    },

    async togglePause(queueIds) {
      const isPaused = async (id: string) => {
        const query = 'query ($id: ID!) { queue(id: $id) { pause { __typename } } }';
        return (await ask<{ queue: { pause: object | null } | null }>(query, { id })).queue?.pause != null;
      };
      const all = (await Promise.all(queueIds.map(isPaused))).every((paused) => paused);
      const field = all ? 'resumeQueue' : 'pauseQueue';
      for (const id of queueIds) await ask(`mutation ($id: ID!) { ${field}(id: $id) { __typename } }`, { id });
      return field === 'pauseQueue' ? 'paused: publishes are accepted, and wait' : 'resumed';
    },
  };
}
