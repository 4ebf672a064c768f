import { JobferryError } from '../domain/errors.ts';
import { nextSlice, SLICE } from '../pacing/slices.ts';

/** Payloads and answers of webhooks that one answer carries, in characters; one more of a job is always possible. */
const MAX_TEXT = 8 * 1024 * 1024;

/** The long texts of one answer, whose length no price knows: an answer is built in memory, and one job may have a megabyte. */
export class AnswerTexts {
  #taken = 0;
  #slice = SLICE;
  #turn: Promise<void> = Promise.resolve();

  /** Characters. */
  get left(): number {
    return Math.max(0, MAX_TEXT - this.#taken);
  }

  /** @throws JobferryError `invalid_request` when the answer has enough already */
  take(text: string): string {
    if (this.#taken > 0 && text.length > this.left) throw tooMuchText();
    this.#taken += text.length;
    return text;
  }

  /** Parses, and lets others have their turn between slices. */
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
    `the payloads and answers of this request are more than ${MAX_TEXT / 1024 / 1024} MiB: ask for fewer jobs`,
  );
}
