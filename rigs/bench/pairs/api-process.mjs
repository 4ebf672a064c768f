// The API of one build in a process of its own (see api-build.mjs). It publishes as fast as it is answered.
import { Duplex } from 'node:stream';
import { serve } from '../load/assistant.mjs';

const CONNECTIONS = 32;

let connections = [];
/** Answers that are still awaited. */
let open = 0;
/** Requests that are still to be sent. */
let left = 0;
let ended = { resolve() {}, reject() {} };

/** The other end of a connection, in this process. It sends the next request when it is answered. */
class Client extends Duplex {
  remoteAddress = '127.0.0.1';
  bytesWritten = 0;
  #request;

  constructor(request) {
    super();
    this.#request = request;
  }

  next() {
    if (left === 0) return;
    left -= 1;
    open += 1;
    this.push(this.#request);
  }

  _read() {}

  _write(chunk, _encoding, done) {
    this.#take(chunk);
    done();
  }

  _writev(chunks, done) {
    for (const { chunk } of chunks) this.#take(chunk);
    done();
  }

  #take(chunk) {
    const start = chunk.toString('latin1', 0, 12);
    // The body of an answer follows its head.
    if (!start.startsWith('HTTP/1.1')) return;
    if (start !== 'HTTP/1.1 201') return ended.reject(new Error(`a publish was answered ${chunk}`));
    open -= 1;
    if (left > 0) setImmediate(() => this.next());
    else if (open === 0) ended.resolve();
  }
}
for (const name of ['setTimeout', 'setNoDelay', 'setKeepAlive', 'ref', 'unref']) {
  Client.prototype[name] = function same() {
    return this;
  };
}

serve({
  async start({ dist }) {
    process.env.NODE_ENV = 'production';
    const { openApi } = await import('./api-build.mjs');
    const { server, request } = await openApi(dist);
    connections = Array.from({ length: CONNECTIONS }, () => new Client(request));
    for (const connection of connections) server.emit('connection', connection);
  },
  /** @returns CPU microseconds per request */
  async window({ requests }) {
    const before = process.cpuUsage();
    left = requests;
    await new Promise((resolve, reject) => {
      ended = { resolve, reject };
      for (const connection of connections) connection.next();
    });
    const { user, system } = process.cpuUsage(before);
    return (user + system) / requests;
  },
});
