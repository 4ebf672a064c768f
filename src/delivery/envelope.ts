import { type EnvelopeFields, envelopeText } from '../domain/envelope-text.ts';

/** Builds the body of a delivery. */
export function buildEnvelope(fields: EnvelopeFields): Buffer {
  return Buffer.from(envelopeText(fields));
}
