import { setTimeout as sleep } from 'node:timers/promises';
import { Refused, type Server, type WireAnswer } from './server.ts';

/**
 * A call has at most so many answers, and characters of JSON.
 * The service takes 500, and bodies of a mebibyte by default.
 */
const BATCH = { answers: 200, characters: 128 * 1024 };
/** A client sends a heartbeat at least this often. */
const HEARTBEAT_MS = 3500;
const RETRY_MS = 100;

/** The answers of one tunnel, on their way to the service: those that are here when a call returns go together. */
export class Answers {
  readonly #server: Pick<Server, 'answer'>;
  readonly #tunnelId: string;
  readonly #onRefused: (reason: string) => void;
  #waiting: WireAnswer[] = [];
  #isSending = false;
  #hasEnded = false;
  #sentAt = performance.now();

  constructor(server: Pick<Server, 'answer'>, tunnelId: string, onRefused: (reason: string) => void) {
    this.#server = server;
    this.#tunnelId = tunnelId;
    this.#onRefused = onRefused;
  }

  /** Resolves when all answers are sent, unless another call is sending them. */
  async add(answer: WireAnswer): Promise<void> {
    this.#waiting.push(answer);
    if (this.#isSending) return;
    this.#isSending = true;
    // In one turn with all that arrived together.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#waiting.length > 0 && !this.#hasEnded) await this.#send(this.#take());
    this.#isSending = false;
  }

  /** Sends a heartbeat if no call has gone out for some time. */
  heartbeat(): void {
    if (performance.now() - this.#sentAt >= HEARTBEAT_MS) void this.#call([]).catch(() => undefined);
  }

  /** The stream is gone: the service has given back what is not answered. */
  end(): void {
    this.#hasEnded = true;
  }

  #take(): WireAnswer[] {
    let characters = 0;
    const count = this.#waiting.findIndex((answer, n) => {
      characters += JSON.stringify(answer).length;
      return n > 0 && (n >= BATCH.answers || characters > BATCH.characters);
    });
    return this.#waiting.splice(0, count === -1 ? this.#waiting.length : count);
  }

  async #send(answers: readonly WireAnswer[]): Promise<void> {
    try {
      await this.#call(answers);
    } catch (error) {
      if (this.#hasEnded) return;
      if (!(error instanceof Refused)) {
        // The service waits until the time limit of the deliveries. A repeated answer changes nothing.
        this.#waiting.unshift(...answers);
        await sleep(RETRY_MS);
      } else if (answers.length === 1) this.#onRefused(error.message);
      // One of them is to blame.
      else for (const answer of answers) await this.#send([answer]);
    }
  }

  async #call(answers: readonly WireAnswer[]): Promise<void> {
    this.#sentAt = performance.now();
    await this.#server.answer(this.#tunnelId, answers);
  }
}
