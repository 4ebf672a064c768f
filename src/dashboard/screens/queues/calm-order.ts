import { type FocusEvent, useEffect, useRef, useState } from 'react';

/**
 * The ids of a list that is read: what is in it and in which order changes only while neither the pointer nor the focus is
 * there. `isLate` says that it would be another list by now.
 */
export function useCalmOrder(wanted: readonly string[], isHeld: boolean): { ids: string[]; isLate: boolean } {
  const text = wanted.join(' ');
  const [shown, setShown] = useState(text);
  if (!isHeld && shown !== text) setShown(text);
  const calm = isHeld ? shown : text;
  return { ids: calm === '' ? [] : calm.split(' '), isLate: calm !== text };
}

/** Whether the mouse or the focus is within an element, and the handlers that find it out. */
export function useHeld() {
  const [isPointed, setPointed] = useState(false);
  const [isFocused, setFocused] = useState(false);
  const element = useRef<Element | null>(null);
  useEffect(() => {
    // What is removed while it has the focus says nothing.
    if (isFocused && !element.current?.contains(document.activeElement)) setFocused(false);
  });
  return {
    isHeld: isPointed || isFocused,
    handlers: {
      onPointerEnter: (event: { pointerType: string }) => setPointed(event.pointerType === 'mouse'),
      onPointerLeave: () => setPointed(false),
      onFocus: ({ currentTarget }: FocusEvent) => {
        element.current = currentTarget;
        setFocused(true);
      },
      onBlur: (event: FocusEvent) => setFocused(event.currentTarget.contains(event.relatedTarget)),
    },
  };
}
