import type { Actor, AuditRecord, Author } from '../domain/audit.ts';
import type { Prisma } from './generated/client.ts';

/**
 * An entry of the audit log is written in the commit of the change that it is about: here for changes
 * that are a Prisma transaction, and as a call of `jobferry_audit` within a statement for the others.
 * A CTE that nothing reads is not run, so that call belongs into the statement's final select list.
 */
export async function audit(tx: Prisma.TransactionClient, by: Author, record: AuditRecord): Promise<void> {
  const { action, targetType, targetId, targetName = null, before = null, after = null } = record;
  await tx.$queryRaw`
    select jobferry_audit(${by.accountId}, ${actorJson(by.actor)}::json, ${action}, ${targetType}, ${targetId},
                          ${targetName}::text, ${jsonbText(before)}::jsonb, ${jsonbText(after)}::jsonb)`;
}

/** The second argument of `jobferry_audit`. */
export function actorJson({ type, id, label }: Actor): string {
  return JSON.stringify({ type, id, label });
}

/**
 * JSON that jsonb can hold: neither NUL nor a lone surrogate, which a filter that somebody asked for
 * may contain. Null stays SQL's null.
 */
export function jsonbText(value: object | null): string | null {
  if (value === null) return null;
  return JSON.stringify(value, (_name, member: unknown) =>
    typeof member === 'string' ? member.replaceAll('\0', '\ufffd').toWellFormed() : member,
  );
}
