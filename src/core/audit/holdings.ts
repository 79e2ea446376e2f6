import { type KeysetPage, pages } from '../../platform/db/connection/keyset.ts';
import type { Holdings } from '../resources/holdings.ts';
import {
  type AuditRow,
  auditKeyOf,
  presentAuditEvent,
  readAccountAudit,
  readConversationAudit,
} from './audit.ts';

/** The audit outlives what it is about; retention.ts purges it and blanks its details. */
export const auditHoldings: Holdings = {
  tables: {
    audit_chains: { account: 'last', moved: { last: 'true' } },
    audit_checkpoints: { account: 'last' },
    audit_events: { account: 'last', exported: 'audit_events', moved: { last: 't.number IS NULL' } },
    audit_handovers: { account: 'last' },
  },
  exportsOfPerson: {
    audit_events: (db, _files, { account_id, id }) =>
      shown((page) => readAccountAudit(db, account_id, { actorIds: [id] }, page)),
  },
  exportsOfConversation: {
    audit_events: (db, _files, { id }) => shown((page) => readConversationAudit(db, id, page)),
  },
};

/** Yields a list, oldest event first. */
async function* shown(read: (page: KeysetPage) => Promise<AuditRow[]>) {
  const found = pages<AuditRow, KeysetPage['after']>(
    200,
    null,
    (after, fetch) => read({ direction: 'previous', after, fetch, search: null }),
    auditKeyOf,
  );
  for await (const rows of found) yield rows.map(presentAuditEvent);
}
