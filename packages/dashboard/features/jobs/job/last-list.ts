/** The jobs of the list that was shown last, so that its neighbours are one key away. It ends with the tab. */
let list: { search: string; ids: readonly string[] } = { search: '', ids: [] };

export function rememberList(search: string, ids: readonly string[]): void {
  list = { search, ids };
}

/** The jobs before and after one in the list that it was opened from. */
export function neighboursOf(id: string, search: string): { previous: string | null; next: string | null } {
  const index = list.search === search ? list.ids.indexOf(id) : -1;
  if (index < 0) return { previous: null, next: null };
  return { previous: list.ids[index - 1] ?? null, next: list.ids[index + 1] ?? null };
}
