import { useQuery } from '@tanstack/preact-query';
import { AddressWarning } from '../api/operations/address-warning.ts';
import { query } from '../api/query.ts';
import { useSettled } from '../base/use-settled.ts';
import { asSentence } from '../words/format.ts';

/** Why this server will refuse deliveries to the URL in an input; null if nothing is known against it. */
export function useAddressWarning(text: string): string | null {
  const webhookUrl = useSettled(text);
  const asked = useQuery({ ...query(AddressWarning, { webhookUrl }), enabled: webhookUrl !== '' });
  return asked.data?.addressWarning == null ? null : asSentence(asked.data.addressWarning);
}
