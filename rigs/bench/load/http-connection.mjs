import { connect } from 'node:net';

const HEAD_END = Buffer.from('\r\n\r\n');
const LENGTH = /\r\ncontent-length: *(\d+)/i;

/**
 * One keep-alive connection, one request at a time. It reads no more of an answer than its status and its end,
 * so that the load costs little of a machine that it shares with what it measures.
 */
export class HttpConnection {
  #socket;
  #received = null;
  #answered = null;

  /** Resolves when connected. */
  static open(host, port) {
    return new Promise((resolve, reject) => {
      const connection = new HttpConnection();
      connection.#socket = connect({ host, port, noDelay: true }, () => resolve(connection));
      connection.#socket.once('error', reject);
      connection.#socket.on('data', (chunk) => connection.#take(chunk));
      connection.#socket.on('close', () => connection.#end(0));
    });
  }

  /** Calls `answered` with the status, or with 0 when the connection broke. */
  send(request, answered) {
    this.#answered = answered;
    if (this.#socket.destroyed) setImmediate(() => this.#end(0));
    else this.#socket.write(request);
  }

  close() {
    this.#answered = null;
    this.#socket.destroy();
  }

  #take(chunk) {
    const received = this.#received === null ? chunk : Buffer.concat([this.#received, chunk]);
    const headEnd = received.indexOf(HEAD_END);
    if (headEnd === -1) {
      this.#received = received;
      return;
    }
    const length = LENGTH.exec(received.latin1Slice(0, headEnd))?.[1];
    if (length === undefined) throw new Error('an answer without content-length');
    if (received.length < headEnd + HEAD_END.length + Number(length)) {
      this.#received = received;
      return;
    }
    this.#received = null;
    this.#end(Number(received.latin1Slice(9, 12)));
  }

  #end(status) {
    const answered = this.#answered;
    this.#answered = null;
    answered?.(status);
  }
}
