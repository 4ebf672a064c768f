/** Ids are 24 hexadecimal digits. The first 12 are the time in milliseconds, so an id alone says when its job was published. */

const ID = /^[0-9a-f]{24}$/;

export function isJobId(text: string): boolean {
  return ID.test(text);
}

/** When the job with this id was published, in milliseconds since 1970. */
export function timeOfId(id: string): number {
  return Number.parseInt(id.slice(0, 12), 16);
}

/** The last 5 digits: the first are the time, so neighbours differ in the last. */
export function shortId(id: string): string {
  return `…${id.slice(-5)}`;
}
