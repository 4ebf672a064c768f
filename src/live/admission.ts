import { unavailable } from '../domain/errors.ts';

/** Bounds on the subscribers of this process. */
const MAX_SUBSCRIBERS = 500;
const MAX_SUBSCRIBERS_OF_ACCOUNT = 100;

/** Counts the subscribers of this process, and refuses those above the bounds. */
export class Admission {
  #admitted = 0;
  readonly #admittedOf = new Map<string, number>();
  #ending = false;

  /** Admits no more. */
  end(): void {
    this.#ending = true;
  }

  /** @returns a function that ends the count */
  admit(accountId: string): () => void {
    if (this.#ending) throw unavailable('the service is stopping', 'nothing');
    if (this.#admitted >= MAX_SUBSCRIBERS) throw unavailable('too many live subscribers', 'nothing');
    const ofAccount = this.#admittedOf.get(accountId) ?? 0;
    if (ofAccount >= MAX_SUBSCRIBERS_OF_ACCOUNT) {
      throw unavailable('the account has too many live subscribers', 'nothing');
    }
    this.#admitted += 1;
    this.#admittedOf.set(accountId, ofAccount + 1);
    let isOpen = true;
    return () => {
      if (!isOpen) return;
      isOpen = false;
      this.#admitted -= 1;
      const left = (this.#admittedOf.get(accountId) ?? 1) - 1;
      if (left === 0) this.#admittedOf.delete(accountId);
      else this.#admittedOf.set(accountId, left);
    };
  }
}
