import { type FocusEvent, useEffect, useRef, useState } from 'preact/compat';

/** Without a key for so long, the focus alone no longer keeps a list from changing. */
const READ_MS = 10_000;

/**
 * The ids of a list that is read: what is in it and in which order changes only while neither the pointer nor the focus
 * is there. `isLate` says that it would be another list by now.
 */
export function useCalmOrder(wanted: readonly string[], isHeld: boolean): { ids: string[]; isLate: boolean } {
  const text = wanted.join(' ');
  const [shown, setShown] = useState(text);
  if (!isHeld && shown !== text) setShown(text);
  const calm = isHeld ? shown : text;
  return { ids: calm === '' ? [] : calm.split(' '), isLate: calm !== text };
}

/**
 * The objects of a page in calm order, each in its present state. Another page, which shares none, is shown at once.
 */
export function useCalmList<Item extends { id: string }>(items: readonly Item[], isHeld: boolean): Item[] {
  const present = new Map(items.map((item) => [item.id, item]));
  const [shown, setShown] = useState(() => [...present.keys()]);
  const isSamePage = shown.some((id) => present.has(id));
  const wanted = [...present.keys()];
  if (!(isHeld && isSamePage) && shown.join(' ') !== wanted.join(' ')) setShown(wanted);
  return shown.flatMap((id) => present.get(id) ?? []);
}

/** Whether the mouse, or a focus that was moved of late, is within an element, and the handlers that find it out. */
export function useHeld() {
  const [isPointed, setPointed] = useState(false);
  /** When the focus came or a key was pressed; null if the focus is elsewhere, or has rested. */
  const [focusedAt, setFocusedAt] = useState<number | null>(null);
  const element = useRef<Element | null>(null);
  useEffect(() => {
    if (focusedAt === null) return;
    const timer = setTimeout(() => setFocusedAt(null), READ_MS);
    return () => clearTimeout(timer);
  }, [focusedAt]);
  useEffect(() => {
    // An element that is removed while it has the focus sends no event.
    if (focusedAt !== null && !element.current?.contains(document.activeElement)) setFocusedAt(null);
  });
  return {
    isHeld: isPointed || focusedAt !== null,
    handlers: {
      onPointerEnter: (event: { pointerType: string }) => setPointed(event.pointerType === 'mouse'),
      onPointerLeave: () => setPointed(false),
      onFocus: ({ currentTarget, timeStamp }: FocusEvent<Element>) => {
        element.current = currentTarget;
        setFocusedAt(timeStamp);
      },
      onKeyDown: ({ timeStamp }: Event) => setFocusedAt(timeStamp),
      onBlur: ({ currentTarget, relatedTarget }: FocusEvent<Element>) => {
        if (!currentTarget.contains(relatedTarget as Node | null)) setFocusedAt(null);
      },
    },
  };
}
