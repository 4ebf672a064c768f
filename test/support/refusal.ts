/** Whether the text of a 503 says that its request changed nothing, so that it may be repeated. */
export function saysNothingWasStored(text: string): boolean {
  return text.includes('nothing was stored');
}
