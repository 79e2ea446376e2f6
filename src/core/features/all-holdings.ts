import type { Db } from '../../platform/db/connection/handle.ts';
import { accountHoldings } from '../accounts/holdings.ts';
import { uploadHoldings } from '../attachments/uploads.ts';
import { auditHoldings } from '../audit/holdings.ts';
import { conversationHoldings, memberHoldings } from '../conversations/holdings.ts';
import { inboxHoldings } from '../inbox/writer.ts';
import { messageHoldings } from '../messages/holdings.ts';
import { notificationHoldings } from '../notifications/holdings.ts';
import type { Holdings } from '../resources/holdings.ts';

declare module '../../platform/hooks.ts' {
  interface HookTable {
    holdings: Holdings;
  }
}

/**
 * Returns what all slices hold, in the order in which it is exported and erased. Rows of accounts
 * are removed in the opposite order, since none refers to one of later holdings.
 */
export function allHoldings({ hooks }: Pick<Db, 'hooks'>): readonly Holdings[] {
  return [
    accountHoldings,
    uploadHoldings,
    conversationHoldings,
    messageHoldings,
    notificationHoldings,
    memberHoldings,
    inboxHoldings,
    ...hooks.all('holdings'),
    auditHoldings,
  ];
}
