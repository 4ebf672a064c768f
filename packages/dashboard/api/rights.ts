import { useQuery } from '@tanstack/preact-query';
import type { ReactNode } from 'preact/compat';
import { type Mutation, may, type Rights } from '../../query/words/rights.ts';
import { type ShellData, shellQuery } from './server.ts';

const meOf = ({ me }: ShellData) => me;

/** The rights of the person; null until they are known. Rail and bars ask the server, so this does not. */
export function useRights(): Rights | null {
  return useQuery({ ...shellQuery, select: meOf, refetchInterval: false, refetchOnMount: false }).data ?? null;
}

export function useMay(mutation: Mutation): boolean {
  return may(useRights(), mutation);
}

/** Shows its content to people who may do the mutation, and nothing to others. */
export function May({ mutation, children }: { mutation: Mutation; children: ReactNode }) {
  return useMay(mutation) ? children : null;
}
