import { useQuery } from '@tanstack/preact-query';
import { AddressWarning } from '../api/operations/address-warning.ts';
import { query } from '../api/query.ts';
import { useSettled } from '../base/use-settled.ts';

/** Why this server will refuse deliveries to the URL in an input; null if nothing is known against it. */
export function useAddressWarning(text: string): string | null {
  const webhookUrl = useSettled(text);
  const result = useQuery({ ...query(AddressWarning, { webhookUrl }), enabled: webhookUrl !== '' });
  const warning = result.data?.addressWarning ?? null;
  // It begins with the host, which is shown as it is written.
  return warning === null ? null : `${warning}.`;
}
