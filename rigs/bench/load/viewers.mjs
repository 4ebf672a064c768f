// Viewers of dashboards: each sends its query again when its time has come, or at once when the answer was late.
import { setTimeout as pause } from 'node:timers/promises';
import { serve } from './assistant.mjs';
import { sharedNow } from './clock.mjs';
import { DASHBOARD } from './dashboard-query.mjs';

let watching = null;

async function look({ target }, found) {
  const startedAt = sharedNow();
  const response = await fetch(`http://${target.host}:${target.port}/graphql`, {
    method: 'POST',
    headers: { authorization: `Bearer ${target.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ query: DASHBOARD }),
  });
  const text = await response.text();
  // Nothing is nullable on the way to an error, so one is seen without reading all of the answer.
  if (response.ok && text.startsWith('{"data":{')) {
    found.times.push(sharedNow() - startedAt);
    if (text.includes('"readFrom":{"server":"replica"')) found.byReplica += 1;
  } else found.errors.push(text.slice(0, 200));
}

async function watch(input, found, isOver) {
  let next = sharedNow() + Math.random() * input.everyMs;
  for (;;) {
    while (sharedNow() < next) {
      if (isOver()) return;
      await pause(Math.min(50, Math.max(1, next - sharedNow())));
    }
    if (isOver()) return;
    await look(input, found).catch((error) => found.errors.push(error.message));
    next = Math.max(sharedNow(), next + input.everyMs);
  }
}

serve({
  /** `target` as for the publisher; so many viewers, each once in `everyMs`. */
  begin(input) {
    const found = { times: [], errors: [], byReplica: 0 };
    let isOver = false;
    const all = Promise.all(Array.from({ length: input.viewers }, () => watch(input, found, () => isOver)));
    watching = {
      async end() {
        isOver = true;
        await all;
        return found;
      },
    };
  },
  /** Resolves with the milliseconds of each answer, how many a replica has given, and errors. */
  end: () => watching.end(),
});
