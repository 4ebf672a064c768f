/**
 * Returns an absolute URL; null if the text is none. Not by `URL.canParse`: in Node 20 its compiled form, which a busy
 * process comes to, refuses every URL with letters such as “é” that take one byte in memory.
 */
export function parsedUrl(text: string): URL | null {
  try {
    return new URL(text);
  } catch {
    return null;
  }
}
