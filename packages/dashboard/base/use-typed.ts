import { useEffect, useLayoutEffect, useRef, useState } from 'preact/compat';

/**
 * The text of a search field. `want` gets it, trimmed, `ms` after the last key; back and forward, which change
 * `wanted`, change the text.
 */
export function useTyped(wanted: string, want: (text: string) => void, ms: number) {
  const [text, setText] = useState(wanted);
  const latest = useRef({ want, applied: wanted });
  useLayoutEffect(() => {
    // Not what this field has asked for itself: a key, or a space at the end, may have come since.
    if (wanted !== latest.current.applied) setText(wanted);
    latest.current.applied = wanted;
  }, [wanted]);
  useEffect(() => {
    latest.current.want = want;
  });
  useEffect(() => {
    if (text.trim() === wanted) return;
    const timer = setTimeout(() => {
      latest.current.applied = text.trim();
      latest.current.want(text.trim());
    }, ms);
    return () => clearTimeout(timer);
  }, [text, wanted, ms]);
  return [text, setText] as const;
}
