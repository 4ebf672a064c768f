import { round } from '../measure/statistics.mjs';

/** Median and range of a rate. */
export function rate({ median, min, max }) {
  return `${Math.round(median)} (${Math.round(min)}–${Math.round(max)})`;
}

/** Median and range of a time. */
export function millis({ median, min, max }) {
  return `${short(median)} (${short(min)}–${short(max)})`;
}

export function short(value) {
  return String(round(value, value < 10 ? 2 : 0));
}

/** A ratio and whether it is what it should be; no aim, no judgement. */
export function judged(ratio, aim, isMet, sign) {
  const text = `× ${round(ratio)}`;
  return aim === undefined ? text : `${text} (aim ${sign} ${aim}: ${isMet ? 'met' : 'MISSED'})`;
}
