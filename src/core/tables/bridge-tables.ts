import type { Generated } from 'kysely';
import type { Times } from '../../platform/db/tables/touched.ts';

declare module '../../platform/db/tables/schema.ts' {
  interface Schema extends BridgeTables {}
}

/** The tables that bridge cases to mail. */
interface BridgeTables {
  inboxes: Times & {
    id: string;
    account_id: string;
    name: string;
    address: string;
    group_id: string | null;
    assignee_id: string | null;
    created_by: string;
    deleted_at: string | null;
  };

  mail_threads: Times & {
    conversation_id: string;
    account_id: string;
    /** The subject of the next mail of the case, without `Re:`. */
    subject: string | null;
    /** Addresses in copy of the last mail. */
    cc: Generated<string[]>;
    /** Ids of mails. */
    last_in_id: string | null;
    last_out_id: string | null;
  };
}
