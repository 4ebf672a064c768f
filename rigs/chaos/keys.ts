import { setTimeout as wait } from 'node:timers/promises';
import { createGraphQLClient } from '../../test/support/graphql.ts';
import type { Random } from './random.ts';
import type { QueueRecord, RevocationRecord } from './records.ts';

/** A client that creates keys, subscribes with them to the jobs of a queue, and revokes them meanwhile (I-45). */
export interface KeyHolder {
  revocations: RevocationRecord[];
  stop(): Promise<void>;
}

const FOLLOW = `subscription S($id: ID) { jobUpdated(queueId: $id) { jobs { id } } }`;
const CREATE = `mutation { createApiKey(name: "chaos") { ... on CreateApiKeyPayload { key apiKey { id } } } }`;
const REVOKE = `mutation R($id: ID!) { revokeApiKey(id: $id) { ... on RevokeApiKeyPayload { id } } }`;
/** Milliseconds for which the client listens after the revocation. */
const LISTEN_MS = 4000;

export function holdKeys(options: {
  key: string;
  baseUrls: () => string[];
  random: Random;
  queue: QueueRecord;
}): KeyHolder {
  const { key, baseUrls, random, queue } = options;
  const revocations: RevocationRecord[] = [];
  let stopped = false;

  /** One key from its creation to its revocation. Throws when the service is away then. */
  async function holdOne(baseUrl: string): Promise<void> {
    const owner = createGraphQLClient(baseUrl, key);
    const made = (await owner.query(CREATE)).createApiKey as { key: string; apiKey: { id: string } };
    const holder = createGraphQLClient(baseUrl, made.key);
    const heard = { lastEventAt: null as number | null, lastAnswerAt: null as number | null };
    const stream = holder.subscribe(FOLLOW, { id: queue.id });
    let isListening = true;
    const listening = (async () => {
      while (isListening) {
        const { errors } = await stream.next(LISTEN_MS);
        // An event with the error that the key was revoked is allowed at any time.
        if (errors === undefined) heard.lastEventAt = Date.now();
      }
    })().catch(() => undefined);
    const asking = (async () => {
      while (isListening) {
        const { status } = await fetch(`${baseUrl}/v1/queues/${queue.id}`, {
          headers: { authorization: `Bearer ${made.key}` },
          signal: AbortSignal.timeout(5000),
        });
        if (status === 200) heard.lastAnswerAt = Date.now();
        await wait(200);
      }
    })().catch(() => undefined);
    try {
      await wait(random.between(300, 1500));
      const { id } = (await owner.query(REVOKE, { id: made.apiKey.id })).revokeApiKey as { id?: string };
      const revokedAt = Date.now();
      if (id === undefined) return;
      await wait(LISTEN_MS);
      revocations.push({ revokedAt, ...heard });
    } finally {
      isListening = false;
      stream.close();
      await Promise.all([listening, asking]);
    }
  }

  const holding = (async () => {
    while (!stopped) {
      const urls = baseUrls();
      if (urls.length > 0) await holdOne(random.pick(urls)).catch(() => undefined);
      await wait(200);
    }
  })();
  return {
    revocations,
    async stop() {
      stopped = true;
      await holding;
    },
  };
}
