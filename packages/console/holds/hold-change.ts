import type { AuditEvent } from '@parley/protocol/resources/audit-event.ts';

/** One change of a legal hold. */
export interface HoldChange {
  readonly id: string;
  readonly isHeld: boolean;
  readonly by: string | null;
  readonly at: string;
  readonly reason: string | null;
}

/** Returns the change that an event of the audit describes; null for every other event. */
export function holdChangeOf({ id, action, actor, details, created_at }: AuditEvent): HoldChange | null {
  if (action !== 'conversation.legal_hold_set') return null;
  const { to, reason } = details;
  return {
    id,
    at: created_at,
    isHeld: to === 'held',
    by: actor?.name ?? null,
    reason: typeof reason === 'string' ? reason : null,
  };
}
