import type { Socket } from 'node:net';

/** What the filter and an exchange tell each other about one connection. */
export interface InterimUse {
  /** Set when a request is written; the filter ends it when the final answer begins. */
  awaitsAnswer: boolean;
  /** Of whole interim answers to the last request. */
  interimBytes: number;
  /** The receiver has begun to answer the last request, were it with a part of an interim answer: it has the request. */
  hasAnswerByte: boolean;
}

/** Up to the byte behind the status code. 101 is not among them: it is final, and asks for what was never offered. */
const INTERIM = /^HTTP\/1\.1 1(?!01)\d\d[ \r]$/;
const BEGINNING = 'HTTP/1.1 1';
const STATUS_BYTES = 13;
const END = '\r\n\r\n';

/**
 * Takes interim answers (1xx) out of what a socket reads, before undici parses it: undici breaks a connection off at a
 * `100 Continue` that it did not ask for, and RFC 9110 (15.2) wants a client to pass over it.
 * @param maxBytes of interim answers to one request; what is more is left to undici, so that none goes on for ever
 */
export function passOverInterimAnswers(socket: Socket, use: InterimUse, maxBytes: number): void {
  const read = socket.read.bind(socket) as (size?: number) => Buffer | null;
  let held: Buffer = Buffer.alloc(0);

  /** What is for undici of the bytes so far; null while they may belong to an interim answer. */
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
