import { useEffect, useRef } from 'preact/compat';
import type { ActionNow } from '../../../../query/schema/fragments.ts';
import { serverNow } from '../../../base/clock.ts';
import { useNow } from '../../../base/time.ts';
import { addSample, rateOfAction, type Sample } from '../model/action.ts';

/** Items a second, by what this page has seen in the last 10 s. Steps once a second. */
export function useRate(action: ActionNow): number | null {
  const now = useNow();
  const samples = useRef<readonly Sample[]>([]);
  const { id, processed, status } = action;
  useEffect(() => {
    samples.current = [];
  }, [id]);
  useEffect(() => {
    samples.current = addSample(samples.current, { at: serverNow(), processed });
  }, [processed]);
  return rateOfAction(action, status === 'RUNNING' ? samples.current : [], now);
}
