import { textOf } from '../../../query/schema/graphql.ts';
import { signedOut } from '../../base/session.ts';
import { DASHBOARD_HEADER, urlOf } from '../client.ts';
import { Live } from '../operations/live.ts';
import type { StreamEvents } from './connection.ts';
import type { FullWatch } from './watch-list.ts';

interface Message {
  data?: { live: { queues?: object[]; jobs?: object[]; action?: object | null }[] } | null;
}

/**
 * Opens the subscription `live` over server-sent events. Returns a function that closes it. `LiveConnection` decides
 * when to connect again.
 */
export function openStream(watch: FullWatch, events: StreamEvents): () => void {
  const closing = new AbortController();
  read(watch, events, closing.signal).then(events.onEnd, events.onEnd);
  return () => closing.abort();
}

/** Resolves at the end of the stream, and rejects if it breaks. */
async function read(watch: FullWatch, { onByte, onObjects }: StreamEvents, signal: AbortSignal): Promise<void> {
  const response = await fetch(urlOf('graphql'), {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'text/event-stream', ...DASHBOARD_HEADER },
    body: JSON.stringify({ query: textOf(Live), variables: { watch } }),
    credentials: 'same-origin',
    signal,
  });
  if (response.status === 401) signedOut();
  if (!response.ok || response.body === null) return;
  onByte();
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  while (true) {
    const { done, value } = await reader.read();
    if (done) return;
    // Also the comments, which are the proof that a quiet stream still lives.
    onByte();
    const blocks = (text + value).split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) {
      const json = /^event: next\ndata: (.*)/.exec(block)?.[1];
      if (json === undefined) continue;
      const { data } = JSON.parse(json) as Message;
      // A refusal: nothing follows.
      if (data == null) return;
      onObjects(data.live.flatMap((event) => event.queues ?? event.jobs ?? event.action ?? []));
    }
  }
}
