/** The query part of an address, with the characters of filters readable: `?q=state:dead,held+error:~timeout`. */
export function toSearch(params: Readonly<Record<string, string | null | undefined>>): string {
  const pairs = Object.entries(params).filter((pair): pair is [string, string] => pair[1] != null && pair[1] !== '');
  if (pairs.length === 0) return '';
  return `?${pairs.map(([name, value]) => `${name}=${encode(value)}`).join('&')}`;
}

/** Characters that no browser, chat or shell changes in a query stay as they are. */
function encode(value: string): string {
  return encodeURIComponent(value)
    .replace(/%(3A|2C|2F|7E|40)/g, (code) => decodeURIComponent(code))
    .replaceAll('%20', '+');
}
