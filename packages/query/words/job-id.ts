/** Ids are 24 hexadecimal digits. The first 12 are the time in milliseconds. */

const ID = /^[0-9a-f]{24}$/;

export function isJobId(text: string): boolean {
  return ID.test(text);
}

/** The last 5 digits: the first are the time, so neighbours differ in the last. */
export function shortId(id: string): string {
  return `…${id.slice(-5)}`;
}
