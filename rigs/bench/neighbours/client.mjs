import { Agent, request } from 'undici';

/** Requests of one account, each counted by the status of its answer. */
export class Client {
  #url;
  #counts;
  #agent = new Agent({ connections: 512, headersTimeout: 60_000, bodyTimeout: 60_000 });

  constructor(url, { id, key }, counts) {
    this.#url = url;
    this.accountId = id;
    this.key = key;
    this.#counts = counts;
  }

  async send(method, path, body, headers = {}) {
    try {
      const answer = await request(this.#url + path, {
        method,
        dispatcher: this.#agent,
        headers: { authorization: `Bearer ${this.key}`, 'content-type': 'application/json', ...headers },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      });
      const text = await answer.body.text();
      this.count(answer.statusCode);
      return { status: answer.statusCode, text };
    } catch (error) {
      this.count(error.code ?? 'error');
      return { status: 0, text: '' };
    }
  }

  count(what) {
    this.#counts[what] = (this.#counts[what] ?? 0) + 1;
  }

  /** For what an attack needs; throws when it is refused. */
  async must(method, path, body) {
    const { status, text } = await this.send(method, path, body);
    if (status < 200 || status > 299) throw new Error(`${method} ${path}: ${status} ${text}`);
    return text === '' ? null : JSON.parse(text);
  }

  createQueue(name, webhookUrl, settings = {}) {
    return this.must('POST', '/v1/queues', { name, webhookUrl, ...settings });
  }

  publish(queue, payload = {}) {
    return this.send('POST', `/v1/queues/${queue}/jobs`, `{"payload":${JSON.stringify(payload)}}`);
  }

  async graphql(query, variables = {}) {
    const { status, text } = await this.send('POST', '/graphql', { query, variables });
    if (status === 0) return { errors: [{ message: 'no answer' }] };
    const answer = JSON.parse(text);
    if (answer.errors !== undefined) this.count(answer.errors[0]?.extensions?.code ?? 'graphql error');
    return answer;
  }
}
