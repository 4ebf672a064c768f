import type { Socket } from 'node:net';

/** State of one connection that the filter and the exchange share. */
export interface InterimUse {
  /** True from the write of a request until the final answer begins; the filter resets it. */
  awaitsAnswer: boolean;
  /** Bytes of complete interim answers to the last request. */
  interimBytes: number;
  /** The receiver has sent at least one byte of an answer, even an interim one, so it has received the request. */
  hasAnswerByte: boolean;
}

/**
 * Matches up to the byte after the status code. 101 does not match:
 * it is final, and switches to a protocol that was never offered.
 */
const INTERIM = /^HTTP\/1\.1 1(?!01)\d\d[ \r]$/;
const BEGINNING = 'HTTP/1.1 1';
const STATUS_BYTES = 13;
const END = '\r\n\r\n';

/**
 * Removes interim answers (1xx) from the bytes that a socket reads, before undici parses them. undici closes the
 * connection at a `100 Continue` that it did not request, but RFC 9110 (15.2) requires a client to ignore it.
 * @param maxBytes of interim answers to one request; further ones are passed to undici, so that they cannot go on for
 * ever
 */
export function passOverInterimAnswers(socket: Socket, use: InterimUse, maxBytes: number): void {
  const read = socket.read.bind(socket) as (size?: number) => Buffer | null;
  let held: Buffer = Buffer.alloc(0);

  /** Returns the bytes to pass to undici; null while the held bytes may belong to an interim answer. */
  const finalPart = (): Buffer | null => {
    while (held.length > 0) {
      const head = held.toString('latin1', 0, STATUS_BYTES);
      const isWhole = head.length === STATUS_BYTES;
      const mayBeInterim = isWhole ? INTERIM.test(head) : BEGINNING.startsWith(head.slice(0, BEGINNING.length));
      const end = mayBeInterim ? held.indexOf(END) : -1;
      const length = end === -1 ? held.length : end + END.length;
      if (!mayBeInterim || use.interimBytes + length > maxBytes) {
        const bytes = held;
        held = Buffer.alloc(0);
        use.awaitsAnswer = false;
        return bytes;
      }
      if (end === -1) return null;
      use.interimBytes += length;
      held = held.subarray(length);
    }
    return null;
  };

  socket.read = (size?: number): Buffer | null => {
    for (;;) {
      const chunk = read(size);
      if (chunk === null || !use.awaitsAnswer) return chunk;
      use.hasAnswerByte = true;
      held = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
      const bytes = finalPart();
      if (bytes !== null) return bytes;
    }
  };
}
