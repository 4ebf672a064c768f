import { createServer } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { percentiles } from '../measure/statistics.mjs';

const PER_SECOND = 40;
/** A job that has not arrived by then counts as so late. */
const PATIENCE_MS = 15_000;

/** An account that publishes a small job now and then, to a healthy webhook. */
export class QuietAccount {
  #url;
  #key;
  #server;
  #agent = new Agent({ connections: 20 });
  #next = 0;
  #sent = new Map();
  #arrived = new Map();

  /** @param hostName of the webhook; an address by default */
  static async open(url, key, { hostName = '127.0.0.1' } = {}) {
    const account = new QuietAccount();
    account.#url = url;
    account.#key = key;
    account.#server = createServer((message, response) => {
      const chunks = [];
      message.on('data', (chunk) => chunks.push(chunk));
      message.on('end', () => {
        const { payload } = JSON.parse(Buffer.concat(chunks));
        if (!account.#arrived.has(payload.n)) account.#arrived.set(payload.n, performance.now());
        // Each delivery opens a new connection, as those of an account with little traffic do.
        response.writeHead(200, { connection: 'close' }).end();
      });
    });
    await new Promise((resolve) => account.#server.listen(0, '127.0.0.1', resolve));
    const { port } = account.#server.address();
    await account.#must('POST', '/v1/queues', { name: 'quiet', webhookUrl: `http://${hostName}:${port}/`, concurrency: 20 });
    return account;
  }

  /**
   * Publishes at a fixed rate, whatever the answers; resolves when all that was accepted has arrived, or is given up.
   */
  async load(ms) {
    const first = this.#next;
    const startedAt = performance.now();
    const publishes = [];
    const statuses = {};
    for (let n = 0; n < (ms / 1000) * PER_SECOND; n += 1) {
      const due = startedAt + (n * 1000) / PER_SECOND;
      const wait = due - performance.now();
      if (wait > 0) await pause(wait);
      publishes.push(this.#publish(statuses));
    }
    const accepted = (await Promise.all(publishes)).filter((number) => number !== null);
    const giveUpAt = performance.now() + PATIENCE_MS;
    while (accepted.some((number) => !this.#arrived.has(number)) && performance.now() < giveUpAt) await pause(20);
    const times = accepted.map((number) => (this.#arrived.get(number) ?? performance.now()) - this.#sent.get(number));
    const { 201: created = 0, ...others } = statuses;
    return {
      published: this.#next - first,
      accepted: created,
      refused: others,
      missing: accepted.filter((number) => !this.#arrived.has(number)).length,
      ...percentiles(times),
      worst: Math.round(Math.max(...times)),
    };
  }

  async #publish(statuses) {
    const n = this.#next++;
    this.#sent.set(n, performance.now());
    const status = await this.#send('POST', '/v1/queues/quiet/jobs', { payload: { n } }).then(
      (answer) => answer.statusCode,
      (error) => error.code ?? 'error',
    );
    statuses[status] = (statuses[status] ?? 0) + 1;
    return status === 201 ? n : null;
  }

  async #send(method, path, body) {
    const answer = await request(this.#url + path, {
      method,
      dispatcher: this.#agent,
      headers: { authorization: `Bearer ${this.#key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    await answer.body.dump();
    return answer;
  }

  async #must(method, path, body) {
    const { statusCode } = await this.#send(method, path, body);
    if (statusCode > 299) throw new Error(`${method} ${path}: ${statusCode}`);
  }

  async close() {
    await this.#agent.destroy();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
