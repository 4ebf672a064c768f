import type { Actor, AuditRecord, Author } from '../domain/audit.ts';
import type { Prisma } from './generated/client.ts';

/** An entry about many objects names at most this many of them. */
export const AUDITED_IDS = 100;

/**
 * Writes an audit entry in the transaction of the change. This function is for changes in a Prisma transaction. Other
 * changes call `jobferry_audit` within their statement. PostgreSQL does not run a CTE that nothing reads, so that call
 * belongs in the final select list.
 */
export async function audit(tx: Prisma.TransactionClient, by: Author, record: AuditRecord): Promise<void> {
  const { action, targetType, targetId, targetName = null, before = null, after = null } = record;
  await tx.$queryRaw`
    select jobferry_audit(${by.accountId}, ${actorJson(by.actor)}::json, ${action}, ${targetType}, ${targetId},
                          ${targetName}::text, ${jsonbText(before)}::jsonb, ${jsonbText(after)}::jsonb)`;
}

/** @returns the second argument of `jobferry_audit` */
export function actorJson({ type, id, label }: Actor): string {
  return JSON.stringify({ type, id, label });
}

/**
 * Serialises a value to JSON that jsonb accepts: NUL characters and lone surrogates, which a client's filter may
 * contain, are replaced. Null stays SQL's null.
 */
export function jsonbText(value: object | null): string | null {
  if (value === null) return null;
  return JSON.stringify(value, (_name, member: unknown) =>
    typeof member === 'string' ? member.replaceAll('\0', '\ufffd').toWellFormed() : member,
  );
}
