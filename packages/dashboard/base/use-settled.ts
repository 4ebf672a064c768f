import { useEffect, useState } from 'preact/compat';

const DELAY_MS = 120;

/**
 * The trimmed text of an input, 120 ms after the last key: what the server is asked for follows the keys with this
 * delay.
 */
export function useSettled(text: string): string {
  const [settled, setSettled] = useState('');
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text.trim()), DELAY_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}
