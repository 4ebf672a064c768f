import { sharedNow } from './clock.mjs';
import { HttpConnection } from './http-connection.mjs';

const CONNECTIONS = 32;
/** The service may not have noted a delivery yet whose answer the receiver has just sent. */
const MOST_TRIES = 10;
const AGAIN_MS = 200;

/** Reports jobs as done over the API, as a worker behind the webhook would. */
export class Acknowledger {
  #target;
  #afterMs;
  #idle = [];
  #waiting = [];
  #acked = 0;
  #again = 0;
  #refused = 0;
  #lastAt = sharedNow();

  /** `afterMs`: how long the work takes that an ack ends. */
  static async open(target, afterMs) {
    const acknowledger = new Acknowledger();
    acknowledger.#target = target;
    acknowledger.#afterMs = afterMs;
    acknowledger.#idle = await Promise.all(
      Array.from({ length: CONNECTIONS }, () => HttpConnection.open(target.host, target.port)),
    );
    return acknowledger;
  }

  add(id) {
    const ack = { id, tries: 0 };
    if (this.#afterMs === 0) this.#send(ack);
    else setTimeout(() => this.#send(ack), this.#afterMs);
  }

  progress() {
    return { acked: this.#acked, again: this.#again, refused: this.#refused, lastAt: this.#lastAt, now: sharedNow() };
  }

  close() {
    this.#waiting = [];
    for (const connection of this.#idle) connection.close();
  }

  #send(ack) {
    const connection = this.#idle.pop();
    if (connection === undefined) {
      this.#waiting.push(ack);
      return;
    }
    const { host, port, apiKey } = this.#target;
    connection.send(
      `POST /v1/jobs/${ack.id}/ack HTTP/1.1\r\nhost: ${host}:${port}\r\nauthorization: Bearer ${apiKey}\r\ncontent-length: 0\r\n\r\n`,
      (status) => this.#answered(ack, status, connection),
    );
  }

  #answered(ack, status, connection) {
    if (status === 200) {
      this.#acked += 1;
      this.#lastAt = sharedNow();
    } else if (ack.tries < MOST_TRIES) {
      this.#again += 1;
      setTimeout(() => this.#send({ ...ack, tries: ack.tries + 1 }), AGAIN_MS);
    } else {
      this.#refused += 1;
    }
    if (status !== 0) {
      this.#free(connection);
      return;
    }
    // The service closes connections that were idle.
    const { host, port } = this.#target;
    HttpConnection.open(host, port).then(
      (fresh) => this.#free(fresh),
      () => undefined,
    );
  }

  #free(connection) {
    this.#idle.push(connection);
    if (this.#waiting.length > 0) this.#send(this.#waiting.shift());
  }
}
