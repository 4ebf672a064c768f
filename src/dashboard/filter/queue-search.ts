/** The search of queues: `tag:mail` finds by tags, every other text is a part of the name or of the address. */
export interface QueueSearch {
  search: string | null;
  /** At least one of them; null if none is wanted. */
  tags: string[] | null;
}

export function queueSearchOf(text: string): QueueSearch {
  const words = text.split(/\s+/).filter((word) => word !== '');
  const tags = words.flatMap((word) => (/^tag:./i.test(word) ? word.slice(4).toLowerCase().split(',') : []));
  const rest = words.filter((word) => !/^tag:/i.test(word)).join(' ');
  return { search: rest === '' ? null : rest, tags: tags.length === 0 ? null : tags.filter((tag) => tag !== '') };
}
