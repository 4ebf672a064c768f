import { JobferryError } from '../domain/errors.ts';
import { nextSlice, SLICE } from '../pacing/slices.ts';

/**
 * Maximum total length of payloads and webhook answers in one response, in characters. The first text may be longer.
 */
const MAX_TEXT = 8 * 1024 * 1024;

/**
 * The long texts of one response. Prices do not limit their length, a response is built in memory, and one job may have
 * a payload of a megabyte.
 */
export class AnswerTexts {
  #taken = 0;
  #isExceeded = false;
  #slice = SLICE;
  #turn: Promise<void> = Promise.resolve();

  /** Number of characters that may still be taken. */
  get left(): number {
    return Math.max(0, MAX_TEXT - this.#taken);
  }

  /** Whether a text was refused, so that the response is not whole. */
  get isExceeded(): boolean {
    return this.#isExceeded;
  }

  /** Counts and returns a text. @throws JobferryError `invalid_request` if the response would be too long */
  take(text: string): string {
    if (this.#taken > 0 && text.length > this.left) throw this.refusal();
    this.#taken += text.length;
    return text;
  }

  /** Returns the error of a text that does not fit. */
  refusal(): JobferryError {
    this.#isExceeded = true;
    return tooMuchText();
  }

  /** Counts and parses a JSON text. Between slices, other work of the process runs. */
  async parse(text: string): Promise<unknown> {
    this.#slice -= this.take(text).length;
    if (this.#slice <= 0) {
      this.#slice = SLICE;
      this.#turn = nextSlice();
    }
    await this.#turn;
    return JSON.parse(text) as unknown;
  }
}

export function tooMuchText(): JobferryError {
  return new JobferryError(
    'invalid_request',
    `the payloads and webhook answers of this request exceed ${MAX_TEXT / 1024 / 1024} MiB: request fewer jobs`,
  );
}
