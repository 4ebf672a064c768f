import { createClient } from 'graphql-sse';
import { DASHBOARD_HEADER, urlOf } from '../graphql/client.ts';
import { textOf } from '../graphql/graphql.ts';
import { Live } from '../graphql/operations/live.ts';
import { signedOut } from '../session.ts';
import type { StreamEvents } from './connection.ts';
import type { FullWatch } from './watch-list.ts';

interface LiveResult {
  live: { queues?: object[]; jobs?: object[]; action?: object | null }[];
}

/** Opens the subscription `live` over server-sent events. Returns a function that closes it. */
export function openStream(watch: FullWatch, { onByte, onObjects, onEnd }: StreamEvents): () => void {
  const client = createClient({
    url: urlOf('graphql'),
    headers: { ...DASHBOARD_HEADER },
    credentials: 'same-origin',
    // `LiveConnection` decides when to connect again.
    retryAttempts: 0,
    fetchFn: async (url: string, init: RequestInit) => {
      const response = await fetch(url, init);
      if (response.status === 401) signedOut();
      return response.ok ? withBytesSeen(response, onByte) : response;
    },
  });
  const stop = client.subscribe<LiveResult>(
    { query: textOf(Live), variables: { watch } },
    {
      next: ({ data }) => {
        if (data) onObjects(data.live.flatMap((event) => event.queues ?? event.jobs ?? event.action ?? []));
        else onEnd();
      },
      error: onEnd,
      complete: onEnd,
    },
  );
  return () => {
    stop();
    client.dispose();
  };
}

/** The library skips comments, which are the proof that a quiet stream still lives. */
function withBytesSeen(response: Response, onByte: () => void): Response {
  onByte();
  const seen = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      onByte();
      controller.enqueue(chunk);
    },
  });
  return new Response(response.body?.pipeThrough(seen) ?? null, response);
}
