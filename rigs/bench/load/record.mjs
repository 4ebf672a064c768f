const INITIAL_LENGTH = 1 << 14;

/** When each job was sent and answered, and with what status. */
export class Record {
  #first;
  #sentAt = new Float64Array(INITIAL_LENGTH);
  #answeredAt = new Float64Array(INITIAL_LENGTH);
  #status = new Uint16Array(INITIAL_LENGTH);
  length = 0;

  constructor(first) {
    this.#first = first;
  }

  /** Returns the number of the job. */
  sent(at) {
    if (this.length === this.#sentAt.length) this.#grow();
    this.#sentAt[this.length] = at;
    this.length += 1;
    return this.#first + this.length - 1;
  }

  answered(number, at, status) {
    this.#answeredAt[number - this.#first] = at;
    this.#status[number - this.#first] = status;
  }

  toMessage() {
    const { length } = this;
    return {
      first: this.#first,
      length,
      sentAt: this.#sentAt.slice(0, length),
      answeredAt: this.#answeredAt.slice(0, length),
      status: this.#status.slice(0, length),
    };
  }

  #grow() {
    this.#sentAt = grown(this.#sentAt);
    this.#answeredAt = grown(this.#answeredAt);
    this.#status = grown(this.#status);
  }
}

export function grown(array, length = 2 * array.length) {
  const larger = new array.constructor(length);
  larger.set(array);
  return larger;
}
