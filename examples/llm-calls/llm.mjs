// @ts-check
import { Backpressure, Permanent } from '@jobferry/client/webhook';

const { LLM_URL = 'https://api.anthropic.com', LLM_API_KEY = '', LLM_MODEL = 'claude-haiku-4-5' } = process.env;

/** Statuses that mean: not now. */
const BUSY = [429, 503, 529];
/** Seconds of the hold if the LLM does not say how long it is busy. */
const DEFAULT_PAUSE = 30;

/**
 * Asks the LLM.
 *
 * @param {string} prompt
 * @param {AbortSignal} signal cancels the call when the attempt is over
 * @returns {Promise<string>} the answer
 * @throws {Backpressure} if the LLM is busy: holds the queue, and uses no attempt
 * @throws {Permanent} if the LLM refuses the prompt: the job is dead
 */
export async function ask(prompt, signal) {
  const response = await fetch(new URL('/v1/messages', LLM_URL), {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': LLM_API_KEY, 'anthropic-version': '2023-06-01' },
    body: JSON.stringify({ model: LLM_MODEL, max_tokens: 1000, messages: [{ role: 'user', content: prompt }] }),
    signal,
  });
  const { status } = response;
  if (BUSY.includes(status)) throw new Backpressure(pauseOf(response), { reason: `the LLM answered ${status}` });
  if (status === 400) throw new Permanent(`the LLM refused the prompt: ${await response.text()}`);
  if (!response.ok) throw new Error(`the LLM answered ${status}: ${await response.text()}`);
  const { content } = /** @type {{ content: { text?: string }[] }} */ (await response.json());
  return content.map(({ text = '' }) => text).join('');
}

/**
 * @param {Response} response
 * @returns {number} seconds
 */
function pauseOf({ headers }) {
  const seconds = Number.parseFloat(headers.get('retry-after') ?? '');
  return seconds >= 0 ? seconds : DEFAULT_PAUSE;
}
