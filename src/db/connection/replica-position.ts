/** A position of the primary at a moment. */
export interface Sample {
  /** `performance.now()` before the primary was asked. */
  at: number;
  timeline: number;
  position: bigint;
  /** A value that the service changes every few seconds. */
  beat: string | null;
}

/** Enough for a minute. Older ones say nothing: a replica that is so far behind is not used. */
const MAX_SAMPLES = 600;
const MAX_BEATS = 100;

/**
 * Computes how current a replica is: all that was committed before `asOf` is in it. Only positions are compared, so
 * clocks and an idle primary do not matter, and a replica whose connection to the primary is lost falls behind as it
 * should.
 *
 * After a failover, a replica may follow the former primary, on a branch of the history whose positions look the same.
 * So it counts for a timeline only once it has shown a value that was written there after the first sample of that
 * timeline.
 */
export class ReplicaPosition {
  #timeline: number | null = null;
  #firstBeat: string | null = null;
  readonly #beats = new Set<string>();
  #follows = false;
  #samples: Sample[] = [];
  #asOf = Number.NEGATIVE_INFINITY;

  /** A `performance.now()`; minus infinity if nothing is known. */
  get asOf(): number {
    return this.#asOf;
  }

  /** Whether the replica is known to follow the present primary. */
  get follows(): boolean {
    return this.#follows;
  }

  /** Takes note of where the primary is. */
  sampled(sample: Sample): void {
    const { timeline, beat, position } = sample;
    if (timeline !== this.#timeline) {
      this.#timeline = timeline;
      this.#firstBeat = beat;
      this.forget();
    }
    if (!this.#follows && beat !== null && beat !== this.#firstBeat && this.#beats.size < MAX_BEATS)
      this.#beats.add(beat);
    const last = this.#samples.at(-1);
    // An idle primary stays where it is.
    if (last?.position === position) last.at = sample.at;
    else this.#samples.push({ ...sample });
    if (this.#samples.length > MAX_SAMPLES) this.#samples.shift();
  }

  /** Takes note of where the replica is. */
  reached(position: bigint, beat: string | null): void {
    if (beat !== null && this.#beats.has(beat)) this.#follows = true;
    if (!this.#follows) return;
    const left = this.#samples.findIndex((sample) => sample.position > position);
    const reached = this.#samples.splice(0, left === -1 ? this.#samples.length : left);
    this.#asOf = Math.max(this.#asOf, reached.at(-1)?.at ?? Number.NEGATIVE_INFINITY);
  }

  /** To be called when the replica may be another one, or another state of it. */
  forget(): void {
    this.#beats.clear();
    this.#follows = false;
    this.#samples = [];
    this.#asOf = Number.NEGATIVE_INFINITY;
  }
}

/** Parses a position as PostgreSQL writes it, such as `16/B374D848`. */
export function positionOf(text: string): bigint {
  const [high = '', low = ''] = text.split('/');
  return (BigInt(`0x${high}`) << 32n) | BigInt(`0x${low}`);
}
