/** Collects the chunks of a body up to a limit, because the length of the body is not known in advance. */
export interface Collector {
  /** @returns false when the body is larger than the limit */
  add(chunk: Uint8Array): boolean;
  bytes(): Uint8Array;
}

export function createCollector(maxBytes: number): Collector {
  const chunks: Uint8Array[] = [];
  let size = 0;
  return {
    add(chunk) {
      size += chunk.byteLength;
      if (size > maxBytes) return false;
      chunks.push(chunk);
      return true;
    },
    bytes() {
      const whole = new Uint8Array(size);
      let at = 0;
      for (const chunk of chunks) {
        whole.set(chunk, at);
        at += chunk.byteLength;
      }
      return whole;
    },
  };
}
